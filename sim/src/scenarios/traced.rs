//! What the system `tests/traced` does on a board: the traces of both have the same events, which a test compares.

use traced_threads::{Parameters, Place, set_up};
use userlib::cap::{Endpoint, FixedObject};
use userlib::{Result, Rights, Thread};

use crate::{Setup, work};

impl Place for Setup {
    fn create<T: FixedObject>(&mut self) -> Result<T> {
        self.allocator.create()
    }

    fn badge(&mut self, endpoint: Endpoint, badge: usize) -> Result<Endpoint> {
        self.allocator.mint(endpoint, Rights::ALL, badge)
    }

    fn thread(
        &mut self,
        parameters: &Parameters,
        body: impl Fn() + Copy + Send + 'static,
    ) -> Result<Thread> {
        let mut thread = self
            .thread(parameters.name, parameters.priority)
            .time(parameters.time);
        if let Some(lender) = parameters.lender {
            thread = thread.lent_by(lender);
        }
        if let Some(endpoint) = parameters.timeouts {
            thread = thread.on_timeout(endpoint);
        }
        Ok(thread.run(body))
    }
}

pub fn setup(setup: &mut Setup) {
    set_up(setup, work, || ()).expect("there is memory");
}
