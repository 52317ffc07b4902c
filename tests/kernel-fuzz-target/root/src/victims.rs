//! A well-behaved client and its server, and their requirements.

use core::sync::atomic::Ordering::Relaxed;
use hostility::victim::Word;
use hostility::{Role, names};
use userlib::cap::{
    Attributes, Endpoint, Frame, Notification, Reply, SchedContext, SchedParameters,
};
use userlib::environment::SharedPage;
use userlib::process::ProcessSize;
use userlib::{Error, Microseconds, Process, Result, Rights, archive, syscall};

use crate::campaign::{Failure, Grounds};

/// The parameter that is not empty if time is the host's; only the tool knows this.
const REAL_TIME: &str = "real-time";

/// The parameters and requirements of a pair.
#[derive(Clone, Copy)]
pub struct Terms {
    /// Its name.
    pub name: &'static str,
    /// Its priority.
    pub priority: u8,
    /// The client's scheduling parameters: one piece of work in each period.
    pub time: SchedParameters,
    /// The maximum duration of a piece of work.
    pub longest: Microseconds,
    /// The maximum time between the beginnings of two pieces of work.
    pub gap: Microseconds,
}

/// How many of its own periods the root task waits for a server to be ready: a few seconds.
const PATIENCE: usize = 2_000;

/// A client and its server.
pub struct Pair {
    terms: Terms,
    client: Process,
    server: Process,
    record: SharedPage,
    /// The work done, and the time, at the beginning of the campaign.
    start: (usize, Microseconds),
}

const SIZE: ProcessSize = ProcessSize {
    memory: 1 << 20,
    slots: 256,
    cnode_bits: 6,
    stack_pages: 4,
    heap_pages: 0,
};

impl Pair {
    /// Makes them and starts them.
    pub fn start(grounds: &mut Grounds, terms: Terms) -> Result<Self> {
        let Grounds {
            environment, clock, ..
        } = grounds;
        let environment = &mut **environment;
        let endpoint: Endpoint = environment.allocator.create()?;
        let reply: Reply = environment.allocator.create()?;
        let ready: Notification = environment.allocator.create()?;
        let record = environment.create_shared_page()?;

        let mut server = Process::with_size(environment, grounds.program, SIZE)?;
        server.set_name("server");
        server.give_number(environment, names::ROLE, Role::Server as usize)?;
        server.give(environment, names::ENDPOINT, endpoint, Rights::ALL)?;
        server.give(environment, names::REPLY, reply, Rights::ALL)?;
        // A signal without a badge leaves no bit to poll.
        server.give_badged(environment, names::READY, ready, Rights::WRITE, 1)?;
        server.set_priorities(environment, terms.priority, 0)?;

        let mut client = Process::with_size(environment, grounds.program, SIZE)?;
        client.set_name("client");
        client.give_number(environment, names::ROLE, Role::Client as usize)?;
        client.give(environment, names::ENDPOINT, endpoint, Rights::ALL)?;
        client.share(environment, names::LEDGER, &record, Rights::READ_WRITE)?;
        let memory: Frame = environment.allocator.create()?;
        let rights = Rights::READ_WRITE;
        client.map(
            environment,
            names::MEMORY,
            memory,
            rights,
            Attributes::NO_EXECUTE,
        )?;
        clock.give(environment, &mut client)?;
        client.set_priorities(environment, terms.priority, 0)?;
        client.set_time(environment, &terms.time)?;

        // The server has a context until it waits; from then on it runs on that of its client.
        let lent: SchedContext = environment.create_sched_context(&terms.time)?;
        lent.bind(server.tcb)?;
        server.start()?;
        let is_ready = (0..PATIENCE).any(|_| {
            syscall::yield_now();
            ready.poll() != 0
        });
        if !is_ready {
            return Err(Error::BadProgram("the server of a pair never waits"));
        }
        lent.unbind()?;
        client.start()?;
        Ok(Self {
            terms,
            client,
            server,
            record,
            start: (0, clock.now()),
        })
    }

    fn word(&self, word: Word) -> usize {
        self.record.words[word as usize].load(Relaxed)
    }

    /// Starts counting.
    pub fn begin(&mut self, now: Microseconds) {
        for word in [Word::Gap, Word::Longest, Word::Wrong] {
            self.record.words[word as usize].store(0, Relaxed);
        }
        self.start = (self.word(Word::Done), now);
    }

    /// Checks their results: no errors, one piece of work in each period (except one in twenty, since a
    /// period begins when its budget is first used), and never late. In host time, which passes while the
    /// emulator does not run: no errors, and some work.
    pub fn judge(&self, now: Microseconds) -> core::result::Result<(), Failure> {
        let (before, start) = self.start;
        let done = self.word(Word::Done) - before;
        let gap = Microseconds(self.word(Word::Gap) as u64);
        let longest = Microseconds(self.word(Word::Longest) as u64);
        let (name, period) = (self.terms.name, self.terms.time.period);
        userlib::println!(
            "fuzz: {name}: {done} periods in {}, the longest work {longest}, the longest gap {gap}",
            now - start
        );
        let is_real_time = !archive::parameter(REAL_TIME).is_empty();
        let least = match is_real_time {
            true => 1,
            false => ((now - start).0 / period.0) as usize * 19 / 20,
        };
        match self.word(Word::Wrong) {
            0 if done < least => Err(Failure::Starved { name, done, least }),
            0 if is_real_time => Ok(()),
            0 if longest > self.terms.longest || gap > self.terms.gap => {
                Err(Failure::Late { name, longest, gap })
            }
            0 => Ok(()),
            wrong => Err(Failure::Wrong { name, wrong }),
        }
    }

    /// Deletes both.
    pub fn end(self, grounds: &mut Grounds) -> Result {
        self.client.destroy(grounds.environment)?;
        self.server.destroy(grounds.environment)
    }
}
