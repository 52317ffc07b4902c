//! Monitors: threads of one address space share data under a lock, and wait at condition variables for changes (B. Lampson and
//! D. Redell, *Experience with processes and monitors in Mesa*, CACM 1980). As in seL4's benchmark program, user code is part
//! of the figures, threads that were woken take the lock again, and a broadcast wakes the first waiting thread, which wakes
//! the next one.

use super::{PRIORITIES, benchmarks};
use crate::bench::{Bench, TIME};
use crate::measure::{Counter, ROUNDS, repeated, samples};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize};
use userlib::cap::{Endpoint, Notification};
use userlib::{Message, Result, syscall};

benchmarks![producer_to_consumer: 1, broadcast: 1];

/// A lock, and a queue of threads that wait for it.
#[derive(Clone, Copy)]
struct Lock {
    /// 1 if it is free; otherwise 0 less the number of waiting threads.
    free: &'static AtomicIsize,
    queue: Notification,
}

impl Lock {
    /// A free lock. Only one can be in use.
    fn new(bench: &mut Bench) -> Result<Self> {
        static FREE: AtomicIsize = AtomicIsize::new(1);
        Ok(Self {
            free: &FREE,
            queue: bench.allocator.create()?,
        })
    }

    fn acquire(self) {
        if self.free.fetch_sub(1, Acquire) <= 0 {
            self.queue.wait();
        }
    }

    fn release(self) {
        if self.free.fetch_add(1, Release) < 0 {
            self.queue.signal();
        }
    }
}

/// What a condition variable knows, which the lock protects.
struct Waiters {
    count: AtomicUsize,
    /// Whether all of them are being woken.
    all: AtomicBool,
}

impl Waiters {
    const fn new() -> Self {
        Self {
            count: AtomicUsize::new(0),
            all: AtomicBool::new(false),
        }
    }
}

/// A condition variable.
#[derive(Clone, Copy)]
struct Condition {
    waiters: &'static Waiters,
    queue: Notification,
}

impl Condition {
    fn new(bench: &mut Bench, waiters: &'static Waiters) -> Result<Self> {
        Ok(Self {
            waiters,
            queue: bench.allocator.create()?,
        })
    }

    /// Releases the lock until the condition may be met.
    fn wait(self, lock: Lock) {
        let Waiters { count, all } = self.waiters;
        count.store(count.load(Relaxed) + 1, Relaxed);
        all.store(false, Relaxed);
        lock.release();
        self.queue.wait();
        lock.acquire();
        let left = count.load(Relaxed) - 1;
        count.store(left, Relaxed);
        if !all.load(Relaxed) {
            return;
        }
        if left > 0 {
            self.queue.signal();
        } else {
            all.store(false, Relaxed);
        }
    }

    /// Wakes a waiting thread.
    fn signal(self) {
        if self.waiters.count.load(Relaxed) > 0 {
            self.queue.signal();
        }
    }

    /// Wakes all waiting threads.
    fn broadcast(self) {
        if self.waiters.count.load(Relaxed) > 0 {
            self.waiters.all.store(true, Relaxed);
            self.queue.signal();
        }
    }
}

/// The difference of two readings, without what the readings themselves take.
fn net(counter: Counter, from: usize, to: usize) -> usize {
    let (first, second) = (counter.now(), counter.now());
    counter.between(from, to) - counter.between(first, second)
}

/// From the producer of an item, before it signals the consumer, which has the same priority, to the consumer. The buffer holds
/// one item.
fn producer_to_consumer(bench: &mut Bench, _: usize) -> Result {
    static FILLED: Waiters = Waiters::new();
    static EMPTIED: Waiters = Waiters::new();
    static IS_FULL: AtomicBool = AtomicBool::new(false);
    static PRODUCED: AtomicUsize = AtomicUsize::new(0);
    static TOOK: [AtomicUsize; ROUNDS] = [const { AtomicUsize::new(0) }; ROUNDS];
    let (counter, lock) = (bench.counter(), Lock::new(bench)?);
    let filled = Condition::new(bench, &FILLED)?;
    let emptied = Condition::new(bench, &EMPTIED)?;
    let consume = move || {
        for took in TOOK.iter().cycle() {
            lock.acquire();
            while !IS_FULL.load(Relaxed) {
                filled.wait(lock);
            }
            let now = counter.now();
            took.store(net(counter, PRODUCED.load(Relaxed), now), Relaxed);
            IS_FULL.store(false, Relaxed);
            emptied.signal();
            lock.release();
        }
    };
    bench.run_with(0, PRIORITIES[0].1, &TIME, consume)?;
    bench.let_others_run()?;
    for _ in 0..ROUNDS {
        lock.acquire();
        while IS_FULL.load(Relaxed) {
            emptied.wait(lock);
        }
        IS_FULL.store(true, Relaxed);
        PRODUCED.store(counter.now(), Relaxed);
        filled.signal();
        lock.release();
    }
    bench.let_others_run()?;
    let took = samples(|round| TOOK[round].load(Relaxed));
    bench.report("producer_to_consumer", &[], &took);
    Ok(())
}

/// Number of threads that wait for a broadcast.
const WAITERS: usize = 25;

/// A thread wakes all threads that wait for a condition, which have a higher priority: until it continues, and until the last of
/// them has the lock. Each of the others then yields and reports to a thread of its priority.
fn broadcast(bench: &mut Bench, _: usize) -> Result {
    static CHANGED: Waiters = Waiters::new();
    static HAS_CHANGED: AtomicBool = AtomicBool::new(false);
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let (counter, lock) = (bench.counter(), Lock::new(bench)?);
    let changed = Condition::new(bench, &CHANGED)?;
    let begin: Notification = bench.allocator.create()?;
    let done: Endpoint = bench.allocator.create()?;
    let (_, priority) = PRIORITIES[1];
    bench.run_with(0, priority, &TIME, move || {
        loop {
            done.wait();
        }
    })?;
    for _ in 0..WAITERS {
        bench.run_with(0, priority, &TIME, move || {
            loop {
                begin.wait();
                lock.acquire();
                while !HAS_CHANGED.load(Relaxed) {
                    changed.wait(lock);
                }
                LAST.store(counter.now(), Relaxed);
                lock.release();
                syscall::yield_now();
                done.send(Message::empty(0));
            }
        })?;
    }
    let mut last = [0; ROUNDS];
    let mut lasts = last.iter_mut();
    let costs = repeated(|| {
        HAS_CHANGED.store(false, Relaxed);
        (0..WAITERS).for_each(|_| begin.signal());
        lock.acquire();
        HAS_CHANGED.store(true, Relaxed);
        let from = counter.now();
        changed.broadcast();
        let to = counter.now();
        lock.release();
        if let Some(last) = lasts.next() {
            *last = net(counter, from, LAST.load(Relaxed));
        }
        Ok(net(counter, from, to))
    })?;
    let parameters = [("waiters", WAITERS.into())];
    bench.report("broadcast", &parameters, &costs);
    bench.report("last_waiter", &parameters, &samples(|round| last[round]));
    Ok(())
}
