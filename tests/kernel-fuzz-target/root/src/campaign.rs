//! Campaigns: a seed, a kind of calls, and many rounds.

use abi::Method;
use core::fmt;
use core::str::FromStr;
use hostility::ledger::{CallKind, End, Ledger, Word};
use userlib::cap::SchedParameters;
use userlib::environment::SharedPage;
use userlib::runtime::StackUse;
use userlib::time::Clock;
use userlib::{
    BootInfo, Environment, Error, Microseconds, Result, archive, boot, println, syscall,
};

use crate::domains;
use crate::reached::Reached;
use crate::system::{self, MEMBERS, TestSystem};
use crate::victims::{Pair, Terms};

/// A campaign.
pub struct Campaign {
    /// Its name.
    pub name: &'static str,
    /// The seed of all random numbers.
    seed: u64,
    call_kind: CallKind,
    /// Calls, in thousands.
    calls: usize,
    /// Whether the hostile component can configure scheduling contexts. If it cannot, its priority is above
    /// that of some well-behaved components, which get their share only because of its budgets.
    makes_time: bool,
    /// Whether there is a hostile component on each core.
    on_all_cores: bool,
}

/// All campaigns.
pub const CAMPAIGNS: &[Campaign] = &[
    Campaign {
        name: "plausible_calls",
        seed: 0x5eed_0001,
        call_kind: CallKind::Plausible,
        calls: 500,
        makes_time: true,
        on_all_cores: false,
    },
    Campaign {
        name: "plausible_calls_on_a_budget",
        seed: 0x5eed_0002,
        call_kind: CallKind::Plausible,
        calls: 350,
        makes_time: false,
        on_all_cores: false,
    },
    Campaign {
        name: "noise",
        seed: 0x5eed_0003,
        call_kind: CallKind::Noise,
        calls: 150,
        makes_time: true,
        on_all_cores: false,
    },
];

/// The campaign for several cores.
pub const ALL_CORES: Campaign = Campaign {
    name: "from_all_cores",
    seed: 0x5eed_0004,
    call_kind: CallKind::Plausible,
    calls: 250,
    makes_time: true,
    on_all_cores: true,
};

/// The parameters with a seed for all campaigns, and a number of calls, in thousands; empty for their own.
const SEED: &str = "seed";
const CALLS: &str = "calls";
/// The parameter with a divisor of their own numbers of calls; empty for 1.
const DIVISOR: &str = "divisor";
/// The parameter that says whether every call is printed; 1 if it is.
const TRACE: &str = "trace";

fn number<T: FromStr>(name: &str) -> Option<T> {
    archive::parameter(name).parse().ok()
}

/// Calls after which the hostile component is made anew.
const ROUND: usize = 4_000;
/// How often a stuck component is started again before it is made anew.
const PATIENCE: usize = 1_000;

/// Scheduling parameters of the root task: it checks the hostile component once in each period.
const OWN_TIME: SchedParameters =
    SchedParameters::new(Microseconds(400), Microseconds(2_000)).with_extra_refills(8);

/// No thread has a higher priority: any delay is caused by the kernel.
const ABOVE: Terms = Terms {
    name: "the pair above",
    priority: 200,
    time: SchedParameters::new(Microseconds(1_000), Microseconds(5_000)),
    longest: Microseconds(1_000),
    gap: Microseconds(6_000),
};
/// The same with several cores, which run in turn in an emulator that counts instructions: time that passes on one core
/// passes on all. The turn of another core can begin in the middle of a piece of work, and ends no later than the next
/// timeout of any core (QEMU 7.2); the client's next replenishment is one. So a period is added to
/// what a piece of work takes on one core.
const AMONG_CORES: Terms = Terms {
    longest: Microseconds(6_000),
    gap: Microseconds(20_000),
    ..ABOVE
};
/// The components above take less than 8 ms of 10. A preempted thread uses its budget in pieces, each of
/// which is replenished one period after its use: the last one at most a period later, and then other threads
/// may run first. So a piece of work takes at most two periods, and the next one begins as late.
const BELOW: Terms = Terms {
    name: "the pair below",
    priority: 50,
    time: SchedParameters::new(Microseconds(1_000), Microseconds(10_000)),
    longest: Microseconds(20_000),
    gap: Microseconds(40_000),
};
/// The same with several domains: the ends of turns preempt the pair above, so its budget comes back in pieces, too, which
/// in time fill the list of replenishments. So the reasons for the pair below hold, with its own period: a piece of work
/// takes at most two periods, and the next one begins as late.
const AMONG_DOMAINS: Terms = Terms {
    longest: Microseconds(2 * ABOVE.time.period.0),
    gap: Microseconds(4 * ABOVE.time.period.0),
    ..ABOVE
};
/// Priority of the root task: between the components above and the hostile component.
const PRIORITY: u8 = 150;

/// State shared by all campaigns.
pub struct Grounds<'a> {
    /// Memory and slots.
    pub environment: &'a mut Environment,
    /// The boot information.
    pub boot: &'static BootInfo,
    /// A clock.
    pub clock: Clock,
    /// The program of all components.
    pub program: &'static [u8],
    /// The pages of hostile components.
    pub pages: [SharedPage; MEMBERS],
}

impl<'a> Grounds<'a> {
    /// Takes the machine's resources.
    pub fn new(environment: &'a mut Environment, boot: &'static BootInfo) -> Result<Self> {
        let program = archive::file("kernel-fuzz-target-component");
        let clock = Clock::start(environment, boot)?;
        let page = environment.create_shared_page()?;
        let mut pages = [page; MEMBERS];
        for further in &mut pages[1..] {
            *further = environment.create_shared_page()?;
        }
        let tcb = environment.tcb;
        // Its initial context is too small for many replenishments.
        environment.sched_control.configure(
            boot::SCHED_CONTEXT,
            &SchedParameters {
                extra_refills: 0,
                ..OWN_TIME
            },
        )?;
        tcb.set_priority(tcb, PRIORITY)?;
        Ok(Self {
            boot,
            clock,
            program: program.ok_or(Error::BadProgram("it is not there"))?,
            pages,
            environment,
        })
    }

    /// The page of the first hostile component.
    pub fn ledger(&self) -> Ledger {
        Ledger::new(self.pages[0].words)
    }
}

impl Campaign {
    /// Runs the campaign.
    pub fn run(
        &self,
        grounds: &mut Grounds,
        reached: &mut Reached,
    ) -> core::result::Result<(), Failure> {
        let terms = match self.on_all_cores {
            true => AMONG_CORES,
            false if domains::ARE_SEVERAL => AMONG_DOMAINS,
            false => ABOVE,
        };
        let mut above = Pair::start(grounds, terms)?;
        let mut below = match self.makes_time {
            true => None,
            false => Some(Pair::start(grounds, BELOW)?),
        };
        let now = grounds.clock.now();
        above.begin(now);
        if let Some(below) = &mut below {
            below.begin(now);
        }
        let outcome = self.rounds(grounds, reached);
        let now = grounds.clock.now();
        let judged = above.judge(now).and_then(|()| match &below {
            Some(below) => below.judge(now),
            None => Ok(()),
        });
        above.end(grounds)?;
        if let Some(below) = below {
            below.end(grounds)?;
        }
        outcome.map_err(Failure::from).and(judged)
    }

    fn rounds(&self, grounds: &mut Grounds, reached: &mut Reached) -> Result {
        let seed = number(SEED).unwrap_or(self.seed);
        let divisor = number(DIVISOR).unwrap_or(1);
        let limit = number(CALLS).map_or(1000 * self.calls / divisor, |calls: usize| 1000 * calls);
        let trace = number(TRACE).unwrap_or_default();
        let (mut calls, mut round, mut stuck) = (0, 0, 0);
        while calls < limit {
            // The seed makes this round reproducible.
            println!("fuzz: {}, seed {}, call {calls}", self.name, seed + round);
            // Spread over the whole range, because similar seeds give similar sequences.
            let state = (seed + round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for (core, page) in grounds.pages.iter().enumerate() {
                let ledger = Ledger::new(page.words);
                ledger.clear();
                ledger.set_random(state.rotate_left(core as u32));
                ledger.set(Word::CallKind, self.call_kind as usize);
                ledger.set(Word::Limit, ROUND);
                ledger.set(Word::Trace, trace);
            }
            let cores = if self.on_all_cores { MEMBERS } else { 1 };
            let system = TestSystem::build(grounds, self.makes_time, cores)?;
            stuck += Self::watch(&system, grounds)?;
            let members = system.members();
            system.end(grounds)?;
            // This prevents a new context from being used before the old one would have been replenished.
            for _ in 0..system::PERIOD.0 / OWN_TIME.period.0 {
                syscall::yield_now();
            }
            for member in members {
                let ledger = Ledger::new(grounds.pages[member].words);
                calls += ledger.get(Word::Calls).clamp(1, ROUND);
                reached.add(ledger);
            }
            round += 1;
        }
        println!(
            "fuzz: {}: {calls} calls in {round} rounds, stuck {stuck} times",
            self.name
        );
        Ok(())
    }

    /// Lets a round run until its first member has finished; returns how often a member was stuck.
    fn watch(system: &TestSystem, grounds: &mut Grounds) -> Result<usize> {
        for member in system.members() {
            system.start(grounds, member)?;
        }
        let (mut last, mut idle, mut stuck) = ([0; MEMBERS], [0; MEMBERS], 0);
        while stuck < PATIENCE {
            syscall::yield_now();
            for member in system.members() {
                let calls = Ledger::new(grounds.pages[member].words).get(Word::Calls);
                let is_first = member == 0;
                if is_first && calls >= ROUND {
                    return Ok(stuck);
                }
                idle[member] = if calls == last[member] {
                    idle[member] + 1
                } else {
                    0
                };
                last[member] = calls;
                // Without progress for two periods of its budget, it is not just out of budget.
                if is_first && idle[member] == 10 {
                    return Ok(stuck);
                }
                if idle[member] % 3 == 2 && calls < ROUND {
                    stuck += 1;
                    system.start(grounds, member)?;
                }
            }
        }
        Ok(stuck)
    }
}

/// Why a campaign failed.
pub enum Failure {
    /// An operation of the root task failed.
    Error(Error),
    /// The root task used too much of its stack.
    Stack(StackUse),
    /// A method never succeeded.
    Missed(Method),
    /// No call with a limit failed for this reason.
    NotEnded(End),
    /// A well-behaved component got less than its share.
    Starved {
        /// Its name.
        name: &'static str,
        /// Periods in which it worked.
        done: usize,
        /// The minimum number of periods.
        least: usize,
    },
    /// A well-behaved component had to wait too long.
    Late {
        /// Its name.
        name: &'static str,
        /// The longest piece of work.
        longest: Microseconds,
        /// The longest time between two beginnings.
        gap: Microseconds,
    },
    /// A well-behaved component found wrong answers or data.
    Wrong {
        /// Its name.
        name: &'static str,
        /// The number of errors.
        wrong: usize,
    },
}

/// Checks that the root task's stack has room for the needs of another compiler.
pub fn stack_margin(stack: StackUse) -> core::result::Result<(), Failure> {
    match stack.has_margin() {
        true => Ok(()),
        false => Err(Failure::Stack(stack)),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Error(error) => write!(out, "the root task got {error:?}"),
            Self::Stack(stack) => write!(out, "{stack} were used"),
            Self::Missed(method) => write!(out, "{method:?} never succeeded"),
            Self::NotEnded(end) => write!(out, "no call with a limit failed: {end:?}"),
            Self::Starved { name, done, least } => {
                write!(out, "{name} worked in {done} periods, not in {least}")
            }
            Self::Late { name, longest, gap } => {
                write!(
                    out,
                    "{name} worked for {longest}, and once began {gap} after the last time"
                )
            }
            Self::Wrong { name, wrong } => {
                write!(out, "{name} found {wrong} wrong answers or words")
            }
        }
    }
}
