//! A time server: one timer for several threads, each of which is woken at a time of its own.

use super::{Clock, Microseconds};
use crate::cap::{Endpoint, Notification, Reply};
use crate::drivers::BoardTimer;
use crate::{Message, Result};

/// The label of a request, which has the time.
const WAKE_AT: usize = 1;

/// The longest time between two readings of the clock: some clocks lose time after 23 minutes.
const STEP: Microseconds = Microseconds(600_000_000);

/// The server's end. Its thread has no lower priority than its clients, and the notification of its timer is bound to it.
pub struct TimeServer<const CLIENTS: usize> {
    timer: BoardTimer,
    clock: Clock,
    /// What each client waits for, and its time. Client `n` calls with the badge `n + 1`.
    clients: [(Notification, Option<Microseconds>); CLIENTS],
}

impl<const CLIENTS: usize> TimeServer<CLIENTS> {
    /// A server for clients that wait for these notifications.
    pub fn new(timer: BoardTimer, clock: Clock, clients: [Notification; CLIENTS]) -> Self {
        Self {
            timer,
            clock,
            clients: clients.map(|wake| (wake, None)),
        }
    }

    /// Serves requests for ever. A request replaces the client's last one.
    ///
    /// # Errors
    /// If the kernel refuses access to the timer.
    pub fn serve(mut self, requests: Endpoint, reply: Reply) -> Result<core::convert::Infallible> {
        let mut received = requests.recv(reply);
        loop {
            let mut is_call = false;
            match received.message {
                None => self.timer.acknowledge()?,
                Some(message) => {
                    is_call = true;
                    let client = received.badge.wrapping_sub(1);
                    if let Some((_, time)) = self.clients.get_mut(client)
                        && message.label() == WAKE_AT
                    {
                        *time = Some(Microseconds::from_message(&message, 0));
                    }
                }
            }
            self.wake()?;
            received = match is_call {
                true => requests.reply_recv(Message::empty(0), reply),
                false => requests.recv(reply),
            };
        }
    }

    /// Wakes the clients whose times have come, and sets the timer for the next.
    fn wake(&mut self) -> Result {
        let now = self.clock.now();
        for (wake, time) in &mut self.clients {
            if time.is_some_and(|time| time <= now) {
                *time = None;
                wake.signal();
            }
        }
        let times = self.clients.iter().filter_map(|(_, time)| *time);
        match times.min() {
            // A longer time is approached in steps.
            Some(next) => self
                .timer
                .set((next - now).min(BoardTimer::longest()).min(STEP)),
            None => Ok(()),
        }
    }
}

/// A client's end.
#[derive(Clone, Copy, Debug)]
pub struct TimeClient(pub Endpoint);

impl TimeClient {
    /// Asks for a signal at this time of the clock, instead of what was asked for before.
    pub fn wake_at(&self, time: Microseconds) {
        self.0.call(Message::new(WAKE_AT, &time.words()));
    }
}
