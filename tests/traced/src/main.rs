//! A board as a place for the threads that do the same in the simulator.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use traced_threads::{Parameters, Place, set_up};
use userlib::cap::{Endpoint, FixedObject, Notification};
use userlib::server::Passive;
use userlib::thread::ThreadParameters;
use userlib::time::{Clock, Load};
use userlib::{BootInfo, CPtr, Environment, Result, Rights, Thread};

struct Board(Environment);

impl Place for Board {
    fn create<T: FixedObject>(&mut self) -> Result<T> {
        self.0.allocator.create()
    }

    fn badge(&mut self, endpoint: Endpoint, badge: usize) -> Result<Endpoint> {
        self.0.allocator.mint(endpoint, Rights::ALL, badge)
    }

    fn thread(
        &mut self,
        parameters: &Parameters,
        body: impl Fn() + Copy + Send + 'static,
    ) -> Result<Thread> {
        let made = ThreadParameters {
            priority: parameters.priority,
            time: Some(parameters.time),
            fault_endpoint: CPtr::NULL,
        };
        let thread = self.0.create_thread(&made, body)?;
        thread.set_name(parameters.name);
        if let Some(lender) = parameters.lender {
            Passive::bind(thread.tcb, thread.sched_context, lender)?;
        }
        if let Some(endpoint) = parameters.timeouts {
            thread.tcb.set_timeout_endpoint(endpoint)?;
        }
        thread.start()?;
        Ok(thread)
    }
}

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result {
    let mut environment = Environment::from_boot_info(boot);
    let clock = Clock::start(&mut environment, boot)?;
    let load = Load::calibrate_often(&clock);
    let done: Notification = environment.allocator.create()?;
    let mut board = Board(environment);
    set_up(
        &mut board,
        move |time| load.work(time),
        move || done.signal(),
    )?;
    done.wait();
    Ok(())
}
