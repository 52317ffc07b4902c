//! The time that is charged to jobs on other cores than the scheduler's.
//!
//! There time is charged as it passes, because a context reports only what it had consumed when the core last switched. So
//! the time of higher-priority threads is charged, too, and given back before a job is found to exceed its budget. The
//! consumed time of a context includes that of earlier jobs, so it must be read between two jobs, too. That needs the kernels
//! of both cores, so it is left out while earlier jobs were hardly charged.

use core::mem;

use schedulers::Duration;

use crate::dispatcher::GRANULARITY;

/// The most that earlier jobs may have been charged since the context was last asked. What they have lost counts as lost by the
/// job that runs: by this much it may exceed its budget.
const DOUBT: Duration = GRANULARITY;

/// The account of one thread.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    /// What was charged to the job since the context was last asked, and to earlier ones.
    charged: Duration,
    earlier: Duration,
    /// How much of that others have used, as far as the context was asked.
    lost: Duration,
    /// By how much more than the budget was charged.
    beyond: Duration,
    /// Whether this is about a job that has ended.
    is_over: bool,
}

impl Elsewhere {
    /// Charges time that has passed while the job ran, `remaining` of which its budget had.
    pub fn charge(&mut self, time: Duration, remaining: Duration) {
        self.charged = self.charged + time;
        self.beyond = self.beyond + (time - remaining);
    }

    /// Whether the job was charged since the context was last asked.
    pub fn is_charged(&self) -> bool {
        self.charged > Duration(0)
    }

    /// The job has ended.
    pub fn end_job(&mut self) {
        self.is_over = true;
    }

    /// A job begins or continues; returns whether the context must be asked first, for nothing but to forget what it had
    /// consumed.
    #[must_use]
    pub fn begin(&mut self) -> bool {
        if !self.is_over {
            return false;
        }
        let earlier = self.earlier + self.charged;
        let asks = earlier > DOUBT;
        *self = Self {
            earlier: if asks { Duration(0) } else { earlier },
            ..Self::default()
        };
        asks
    }

    /// The context has reported what it had consumed since the last time.
    pub fn told(&mut self, consumed: Duration) {
        let consumed = consumed - mem::take(&mut self.earlier);
        let charged = mem::take(&mut self.charged);
        self.lost = self.lost + (charged - consumed);
    }

    /// How much of what was charged to the job, whose budget seems to be used up, is to be given back.
    pub fn take_lost(&mut self) -> Duration {
        let lost = mem::take(&mut self.lost);
        lost - mem::take(&mut self.beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Duration = Duration(5_000);

    /// A job with `remaining` of its budget runs for `used` of `passed`; returns what remains.
    fn run(
        account: &mut Elsewhere,
        consumed: &mut u64,
        remaining: Duration,
        (passed, used): (u64, u64),
    ) -> Duration {
        account.charge(Duration(passed), remaining);
        *consumed += used;
        remaining - Duration(passed)
    }

    fn begin(account: &mut Elsewhere, consumed: &mut u64) {
        if account.begin() {
            *consumed = 0;
        }
    }

    /// What the account gives back.
    fn lost(account: &mut Elsewhere, consumed: &mut u64) -> Duration {
        account.told(Duration(mem::take(consumed)));
        account.take_lost()
    }

    #[test]
    fn time_of_others_is_given_back_exactly() {
        let (mut account, mut consumed) = (Elsewhere::default(), 0);
        begin(&mut account, &mut consumed);
        let left = run(&mut account, &mut consumed, BUDGET, (4_000, 1_000));
        // The last of it is longer than what is left.
        run(&mut account, &mut consumed, left, (2_000, 1_500));
        assert_eq!(lost(&mut account, &mut consumed), Duration(2_500));
        run(&mut account, &mut consumed, Duration(2_500), (2_500, 2_500));
        assert_eq!(lost(&mut account, &mut consumed), Duration(0));
    }

    #[test]
    fn what_a_long_job_lost_is_not_given_to_the_next() {
        let (mut account, mut consumed) = (Elsewhere::default(), 0);
        begin(&mut account, &mut consumed);
        run(&mut account, &mut consumed, BUDGET, (4_000, 1_000));
        account.end_job();
        begin(&mut account, &mut consumed);
        run(&mut account, &mut consumed, BUDGET, (5_000, 5_000));
        assert_eq!(lost(&mut account, &mut consumed), Duration(0));
    }

    #[test]
    fn short_jobs_ask_nothing_until_together_they_are_long() {
        let (mut account, mut asked) = (Elsewhere::default(), 0);
        for _ in 0..1_000 {
            asked += usize::from(account.begin());
            account.charge(Duration(10), BUDGET);
            account.end_job();
        }
        // Each eleventh makes them longer than 100.
        assert_eq!(asked, 90);
    }

    /// However jobs end, and whatever others take: a job that was aborted has used its budget, and no more than it, what is
    /// charged at once and the doubt.
    #[test]
    fn budgets_are_kept_in_random_histories() {
        const STEP: u64 = 300;
        let mut random = 1_u64;
        let mut below = |most: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % most
        };
        let (mut account, mut consumed) = (Elsewhere::default(), 0);
        let mut aborted = 0;
        for _ in 0..100_000 {
            let budget = 1 + below(2_000);
            // Many jobs are short, and some have no end.
            let work = [below(40), below(2_000), u64::MAX][below(3) as usize];
            let (mut left, mut used) = (Duration(budget), 0);
            begin(&mut account, &mut consumed);
            while used < work {
                let passed = 1 + below(STEP);
                let ran = [passed, below(passed + 1), 0][below(3) as usize].min(work - used);
                used += ran;
                left = run(&mut account, &mut consumed, left, (passed, ran));
                if left > Duration(0) || used == work {
                    continue;
                }
                left = lost(&mut account, &mut consumed);
                if left == Duration(0) {
                    assert!(used >= budget, "{used} of {budget}");
                    assert!(used <= budget + STEP + DOUBT.0, "{used} of {budget}");
                    aborted += 1;
                    break;
                }
            }
            account.end_job();
        }
        assert!(aborted > 10_000, "{aborted}");
    }
}
