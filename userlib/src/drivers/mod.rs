//! Drivers for the devices that each board has; the names are the same on all boards. A root task opens the one-shot
//! timer, a [`BoardTimer`], and may give it to a component. A component to which a description gives a device makes a driver of
//! it: of `timer` an [`OneShot`], of `serial` a [`Serial`], and of that a [`Writer`], of `rtc` an `Rtc`, and of `gpio` a
//! `Gpio`.

#[cfg(feature = "devices-zynqmp")]
mod cadence_uart;
#[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
mod epit;
#[cfg(any(feature = "devices-virt", feature = "devices-zynqmp"))]
mod generic_timer;
#[cfg(feature = "devices-imx6")]
mod imx_gpio;
#[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
mod imx_uart;
mod line;
#[cfg(target_arch = "x86_64")]
mod mc146818;
mod one_shot;
#[cfg(target_arch = "x86_64")]
mod pit;
#[cfg(feature = "devices-virt")]
mod pl011;
#[cfg(any(feature = "devices-virt", feature = "devices-zynqmp"))]
mod second_counter;
#[cfg(target_arch = "x86_64")]
mod uart_16550;
mod writer;

#[cfg(feature = "devices-zynqmp")]
pub use cadence_uart::Serial;
#[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
use epit::{Device, Timer};
#[cfg(any(feature = "devices-virt", feature = "devices-zynqmp"))]
use generic_timer::{Device, Timer};
#[cfg(feature = "devices-imx6")]
pub use imx_gpio::Gpio;
#[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
pub use imx_uart::Serial;
pub use line::{Key, Line};
#[cfg(target_arch = "x86_64")]
pub use mc146818::Rtc;
pub use one_shot::OneShot;
#[cfg(target_arch = "x86_64")]
use pit::{Device, Timer};
#[cfg(feature = "devices-virt")]
pub use pl011::Serial;
#[cfg(any(feature = "devices-virt", feature = "devices-zynqmp"))]
pub use second_counter::Rtc;
#[cfg(target_arch = "x86_64")]
pub use uart_16550::Serial;
pub use writer::Writer;

use crate::cap::{IrqHandler, Notification, Slot};
use crate::startup::{TIMER_INTERRUPT, TIMER_SIGNAL};
use crate::{CPtr, Capability, Environment, Microseconds, Process, Result, Rights, Startup};

/// The board's one-shot timer, which signals a notification once.
pub struct BoardTimer {
    timer: Timer,
    interrupt: Interrupt,
    /// Remaining time after the timer's current interval, for times longer than it can count at once.
    rest: Microseconds,
}

impl BoardTimer {
    /// Whether user programs may use the timer; on some boards they may only with the ABI's option `user-timer`.
    pub const IS_THERE: bool = Timer::IS_THERE;

    /// Opens the board's timer.
    pub fn open(environment: &mut Environment) -> Result<Self> {
        Ok(Self {
            timer: Timer::open(environment)?,
            interrupt: Interrupt::open(environment, Timer::issue)?,
            rest: Microseconds(0),
        })
    }

    /// Gives a process access to the timer. Only one of its holders may use it at a time.
    ///
    /// # Panics
    /// If this timer was given by a parent, not opened.
    pub fn give(&self, environment: &mut Environment, process: &mut Process) -> Result {
        let Interrupt {
            handler,
            notification,
        } = self.interrupt;
        self.timer.give(environment, process)?;
        process.give(environment, TIMER_INTERRUPT, handler, Rights::ALL)?;
        process.give(environment, TIMER_SIGNAL, notification, Rights::ALL)?;
        Ok(())
    }

    /// The timer that the parent gave.
    ///
    /// # Panics
    /// If the parent gave none.
    pub fn from_startup(startup: &Startup) -> Self {
        Self {
            timer: Timer::from_startup(startup),
            interrupt: Interrupt {
                handler: startup.capability(TIMER_INTERRUPT),
                notification: startup.capability(TIMER_SIGNAL),
            },
            rest: Microseconds(0),
        }
    }

    /// The notification that the timer signals.
    pub fn notification(&self) -> Notification {
        self.interrupt.notification
    }

    /// Starts the timer. For a time longer than [`longest`](Self::longest), only [`wait`](Self::wait) waits
    /// until its end.
    pub fn set(&mut self, time: Microseconds) -> Result {
        let now = time.min(Timer::LONGEST);
        self.rest = time - now;
        self.timer.start(now)
    }

    /// The longest time until one signal.
    pub const fn longest() -> Microseconds {
        Timer::LONGEST
    }

    /// Acknowledges the interrupt, for callers that wait on the notification themselves.
    pub fn acknowledge(&mut self) -> Result {
        self.timer.stop()?;
        self.interrupt.handler.ack()
    }

    /// Waits until the time has elapsed.
    pub fn wait(&mut self) -> Result {
        loop {
            self.interrupt.notification.wait();
            self.acknowledge()?;
            if self.rest == Microseconds(0) {
                return Ok(());
            }
            self.set(self.rest)?;
        }
    }
}

/// An interrupt that signals a notification of its own.
struct Interrupt {
    handler: IrqHandler,
    notification: Notification,
}

impl Interrupt {
    /// Opens the interrupt; `issue` puts its handler into a slot.
    fn open(environment: &mut Environment, issue: fn(Slot) -> Result) -> Result<Self> {
        let notification: Notification = environment.allocator.create()?;
        // The nonzero badge distinguishes a signal from none.
        let badged = environment
            .allocator
            .mint(notification, crate::Rights::ALL, 1)?;
        let slot = environment.allocator.allocate_slot()?;
        issue(slot)?;
        let handler = IrqHandler::at(CPtr(slot.index));
        handler.set_notification(badged)?;
        Ok(Self {
            handler,
            notification,
        })
    }
}
