//! Channel 2 of the interval timer (Intel 8254 data sheet, order number 231164), with gate and output in port 0x61.

use arch_x86_64::timer::ordered_time_stamp;
use calibration::{Frequency, Reading};
use x86_64::instructions::port::Port;

/// Its ticks per second.
const FREQUENCY: u64 = 1_193_182;
/// Its largest count.
const LAST: u16 = u16::MAX;

/// The frequency of the time stamp counter; `None` if this one does not count.
pub fn measure() -> Option<Frequency> {
    // Repeated if an interruption was so long that the count has ended.
    const ATTEMPTS: usize = 8;
    (0..ATTEMPTS).find_map(|_| {
        let timer = IntervalTimer::start();
        let measured = super::by(FREQUENCY, LAST.into(), &|| Some(timer.read()));
        timer.stop().then_some(measured)
    })?
}

/// Channel 2 of the interval timer, counting down from its largest count.
struct IntervalTimer {
    channel: Port<u8>,
    command: Port<u8>,
    control: Port<u8>,
    /// The other bits of the control port.
    others: u8,
}

impl IntervalTimer {
    fn start() -> Self {
        const GATE: u8 = 1 << 0;
        const SPEAKER: u8 = 1 << 1;
        /// Channel 2, low byte then high byte, mode 0: count down once.
        const COUNT_DOWN: u8 = 0b1011_0000;
        let (mut control, mut command) = (Port::new(0x61), Port::new(0x43));
        let mut channel = Port::new(0x42);
        // SAFETY: this is the only user of this timer channel.
        let others = unsafe {
            let others = control.read() & !(GATE | SPEAKER);
            control.write(others | GATE);
            command.write(COUNT_DOWN);
            for byte in LAST.to_le_bytes() {
                channel.write(byte);
            }
            others
        };
        Self {
            channel,
            command,
            control,
            others,
        }
    }

    /// The ticks since the start, and the time stamp counter.
    fn read(&self) -> Reading {
        /// Latches the count of channel 2 until it is read.
        const LATCH: u8 = 0b1000_0000;
        let (mut channel, mut command) = (self.channel.clone(), self.command.clone());
        // SAFETY: as above.
        unsafe {
            let before = ordered_time_stamp();
            command.write(LATCH);
            let after = ordered_time_stamp();
            let left = u16::from_le_bytes([channel.read(), channel.read()]);
            Reading {
                count: (LAST - left).into(),
                before,
                after,
            }
        }
    }

    /// Restores the control port; returns whether the count has not ended yet.
    fn stop(mut self) -> bool {
        /// The output rises at the end of the count.
        const OUTPUT: u8 = 1 << 5;
        // SAFETY: as above.
        unsafe {
            let ended = self.control.read() & OUTPUT != 0;
            self.control.write(self.others);
            !ended
        }
    }
}
