//! What the kernel costs on a platform.

use schedulability::Time;
use serde::Deserialize;
use system_description::Duration;

use crate::time;

/// The costs of the kernel on a platform, from a file. No key has a default, and no other key is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Figures {
    /// The platform.
    pub platform: String,
    /// The smallest budget: what a replenishment loses to entering and leaving the kernel.
    pub smallest_budget: Duration,
    /// The longest section with interrupts disabled, which delays a thread that is released meanwhile.
    pub section: Duration,
    /// A kernel entry by the timer that releases a thread and switches to it.
    pub release: Duration,
    /// A kernel entry in which a thread stops running, and the next one continues.
    pub switch: Duration,
    /// What the thread that continues loses, because its working set is no longer in the caches.
    pub cache_refill: Duration,
    /// A call of a server and its reply.
    pub call: Duration,
    /// A kernel entry by the interrupt of a device.
    pub interrupt: Duration,
    /// A kernel entry in which a budget ends, with the message to a timeout handler.
    pub timeout: Duration,
    /// How long one kernel entry waits for each other core.
    pub other_core: Duration,
    /// What a user-level scheduler costs, the kernel's part included, if that was measured.
    pub scheduler: Option<Scheduler>,
}

/// The overheads of a user-level scheduler, as measured. No key has a default, and no other key is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scheduler {
    /// From the end of a decision to the job that runs because of it.
    pub context_switch: Overhead,
    /// A decision.
    pub schedule: Overhead,
    /// What each release adds to a decision.
    pub release: Overhead,
    /// From an interrupt by the timer to the scheduler.
    pub release_latency: Overhead,
    /// From an interrupt to another core to its effect there.
    pub remote_reschedule: Overhead,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overhead {
    /// The mean.
    pub mean: Duration,
    /// The largest.
    pub worst: Duration,
}

impl Scheduler {
    fn all(&self) -> [(&'static str, Duration); 5] {
        [
            ("context-switch", self.context_switch.worst),
            ("schedule", self.schedule.worst),
            ("release", self.release.worst),
            ("release-latency", self.release_latency.worst),
            ("remote-reschedule", self.remote_reschedule.worst),
        ]
    }
}

/// The counts of instructions from which [`Figures`] are made: measured at most, except for `section`, which is the
/// bound that the suite `delay` enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// The bound of sections with interrupts disabled.
    pub section: u64,
    /// The longest of the operations in which a thread stops running.
    pub switch: u64,
    /// The longest call and the longest reply, together.
    pub call: u64,
    /// The longest way from an interrupt to a thread.
    pub interrupt: u64,
    /// The longest way from the end of a budget to its handler.
    pub timeout: u64,
}

/// The kernel's worst case as the ABI publishes it, for a section.
const WORST: Time = Time::from_micros(10);

impl Figures {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong with it, with line and column.
    pub fn read(text: &str) -> Result<Self, String> {
        let figures: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let longest = Duration::from_nanos(Time::LONGEST.nanos() as u64);
        let measured = figures.scheduler.iter().flat_map(Scheduler::all);
        let all: Vec<_> = figures.all().into_iter().chain(measured).collect();
        match all.iter().find(|(_, value)| *value > longest) {
            Some((name, value)) => Err(format!("`{name}` is {value}, more than can be analysed")),
            None => Ok(figures),
        }
    }

    fn all(&self) -> [(&'static str, Duration); 9] {
        [
            ("smallest-budget", self.smallest_budget),
            ("section", self.section),
            ("release", self.release),
            ("switch", self.switch),
            ("cache-refill", self.cache_refill),
            ("call", self.call),
            ("interrupt", self.interrupt),
            ("timeout", self.timeout),
            ("other-core", self.other_core),
        ]
    }

    /// The file of a platform, from counts of instructions. A section takes what the ABI says, and all other
    /// operations take the same time for each instruction.
    pub fn from_instructions(platform: &str, counts: &Instructions) -> String {
        let nanos = |count: u64| {
            let all = i128::from(count) * WORST.nanos();
            let each = i128::from(counts.section.max(1));
            Duration::from_nanos((all + each - 1).div_euclid(each) as u64)
        };
        let line = |name: &str, count: u64, what: &str| {
            format!(
                "{name} = \"{}\" # {count} instructions{what}\n",
                nanos(count)
            )
        };
        let bound = counts.section;
        let mut text = format!(
            "# What the kernel costs on {platform}, for `cargo xtask analyse`.\n\
             # Made by `cargo xtask analyse --write-figures`; the book explains it (analysis/overheads.md).\n\
             platform = \"{platform}\"\nsmallest-budget = \"20 us\" # the ABI's\n"
        );
        text += &line("section", bound, ", the bound of the suite `delay`");
        text += &line("release", bound, ", a whole section");
        text += &line("switch", counts.switch, ", measured");
        text += "cache-refill = \"0 us\" # emulators have no caches; on hardware: `cargo xtask bench --suite switch`\n";
        text += &line("call", counts.call, " with the reply, measured");
        text += &line("interrupt", counts.interrupt, ", measured");
        text += &line("timeout", counts.timeout, ", measured");
        text + &line("other-core", bound, ", the bound for each other core")
    }

    /// These costs for the analysis of a part of a system: it counts `counted` cores, and `cores` will be used.
    pub(crate) fn as_if(&self, cores: usize, counted: usize) -> Self {
        let others = |count: usize| count.max(1) as u64 - 1;
        let mut figures = self.clone();
        if others(counted) > 0 {
            let all = self.other_core.as_nanos().saturating_mul(others(cores));
            figures.other_core = Duration::from_nanos(all.div_ceil(others(counted)));
        }
        figures
    }

    /// What a job of a thread costs the kernel beside its calls: its release, its end, and its interrupt.
    pub(crate) fn job(&self, has_interrupt: bool, cores: usize) -> Time {
        let interrupt = if has_interrupt {
            time(self.interrupt)
        } else {
            Time::ZERO
        };
        let entries = if has_interrupt { 3 } else { 2 };
        // The thread begins with cold caches, and so does the one that continues afterwards.
        let refills = time(self.cache_refill) * 2;
        time(self.release) + time(self.switch) + refills + interrupt + self.waiting(entries, cores)
    }

    /// What it costs that another thread runs until it has what it needs in the caches.
    pub(crate) fn switch(&self) -> Time {
        time(self.switch) + time(self.cache_refill)
    }

    /// What a call costs.
    pub(crate) fn call(&self, cores: usize) -> Time {
        time(self.call) + time(self.cache_refill) * 2 + self.waiting(2, cores)
    }

    /// What an interrupt costs.
    pub(crate) fn interrupt(&self, cores: usize) -> Time {
        time(self.interrupt) + self.waiting(1, cores)
    }

    /// What the end of a budget costs.
    pub(crate) fn end_of_budget(&self, cores: usize) -> Time {
        time(self.timeout) + time(self.cache_refill) + self.waiting(1, cores)
    }

    /// The longest section of the kernel.
    pub(crate) fn section(&self, cores: usize) -> Time {
        time(self.section) + self.waiting(1, cores)
    }

    /// What waiting for a server costs the thread that waits: two kernel entries, and cold caches afterwards.
    pub(crate) fn wait(&self, cores: usize) -> Time {
        time(self.cache_refill) + self.waiting(2, cores)
    }

    /// Waiting for other cores in as many kernel entries.
    pub(crate) fn waiting(&self, entries: i128, cores: usize) -> Time {
        time(self.other_core) * (entries * (cores.max(1) as i128 - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: Instructions = Instructions {
        section: 3_000,
        switch: 600,
        call: 1_000,
        interrupt: 500,
        timeout: 1_500,
    };

    #[test]
    fn what_is_written_is_read() {
        let text = Figures::from_instructions("board", &COUNTS);
        let figures = Figures::read(&text).unwrap();
        assert_eq!(figures.platform, "board");
        assert_eq!(figures.section, Duration::from_micros(10));
        assert_eq!(figures.switch, Duration::from_micros(2));
        assert_eq!(figures.call, Duration::from_nanos(3_334));
    }

    /// Every line matters, and no other is accepted.
    #[test]
    fn nothing_can_be_left_out_or_misspelt() {
        let text = Figures::from_instructions("board", &COUNTS);
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), 10);
        for place in 0..lines.len() {
            let mut fewer = lines.clone();
            let left_out = fewer.remove(place);
            let (name, _) = left_out.split_once(' ').unwrap();
            let error = Figures::read(&fewer.join("\n")).unwrap_err();
            assert!(
                error.contains(&format!("missing field `{name}`")),
                "{error}"
            );
            let misspelt = format!("{}\ncontext-{left_out}", fewer.join("\n"));
            let error = Figures::read(&misspelt).unwrap_err();
            assert!(
                error.contains("unknown field `context-") && error.contains("line 10"),
                "{error}"
            );
        }
        let error = Figures::read(&text.replace("\"10 us\"", "10")).unwrap_err();
        assert!(error.contains("10 has no unit"), "{error}");
        let error = Figures::read(&text.replace("\"10 us\"", "\"9999999 s\"")).unwrap_err();
        assert!(error.contains("more than can be analysed"), "{error}");
    }

    const SCHEDULER: &str = r#"
[scheduler]
context-switch = { mean = "1 us", worst = "2 us" }
schedule = { mean = "1 us", worst = "3 us" }
release = { mean = "1 us", worst = "4 us" }
release-latency = { mean = "1 us", worst = "5 us" }
remote-reschedule = { mean = "1 us", worst = "6 us" }
"#;

    #[test]
    fn of_a_measured_scheduler_nothing_can_be_left_out() {
        let text = Figures::from_instructions("board", &COUNTS) + SCHEDULER;
        let scheduler = Figures::read(&text).unwrap().scheduler.unwrap();
        assert_eq!(scheduler.release.worst, Duration::from_micros(4));
        for (name, _) in scheduler.all() {
            let line = text
                .lines()
                .rfind(|line| line.starts_with(&format!("{name} = {{")));
            let error = Figures::read(&text.replace(line.unwrap(), "")).unwrap_err();
            assert!(
                error.contains(&format!("missing field `{name}`")),
                "{error}"
            );
        }
        let error = Figures::read(&text.replace("{ mean = \"1 us\", worst = \"6", "{ worst = \"6"));
        assert!(error.unwrap_err().contains("missing field `mean`"));
        let error = Figures::read(&text.replace("\"6 us\"", "\"9999999 s\"")).unwrap_err();
        assert!(error.contains("`remote-reschedule` is"), "{error}");
    }

    /// Instead of what the kernel's costs would say, each is charged.
    #[test]
    fn a_measured_scheduler_is_charged() {
        let text = Figures::from_instructions("board", &COUNTS) + SCHEDULER;
        let of = |text: &str, decision| {
            crate::overheads(
                Time::from_micros(decision),
                &Figures::read(text).unwrap(),
                1,
            )
        };
        let all = of(&text, 1);
        assert_eq!(all.context_switch, Time::from_micros(2));
        assert_eq!(all.schedule, Time::from_micros(3));
        // It takes the processor to wake the scheduler, at each event.
        assert_eq!(all.releases, schedulability::model::Releases::Thread);
        assert_eq!(all.release, Time::from_micros(4 + 5));
        // Interrupts may be disabled.
        assert_eq!(all.release_latency, Time::from_micros(10 + 5));
        assert_eq!(all.remote_reschedule, Time::from_micros(6 + 10));
        // The description may say more.
        assert_eq!(of(&text, 7).schedule, Time::from_micros(7));
    }

    #[test]
    fn each_figure_is_charged() {
        let text = Figures::from_instructions("board", &COUNTS);
        let figures = Figures::read(&text).unwrap();
        assert!(figures.job(true, 1) > figures.job(false, 1));
        assert_eq!(figures.job(false, 1), Time::from_micros(12));
        assert_eq!(figures.job(false, 3), Time::from_micros(12 + 2 * 2 * 10));
        assert_eq!(figures.section(2), Time::from_micros(20));
        let with_caches = text.replace("cache-refill = \"0 us\"", "cache-refill = \"50 us\"");
        let with_caches = Figures::read(&with_caches).unwrap();
        assert_eq!(with_caches.job(false, 1), Time::from_micros(112));
        assert_eq!(with_caches.switch(), Time::from_micros(52));
        assert_eq!(with_caches.wait(1), Time::from_micros(50));
        let more = |of: fn(&Figures, usize) -> Time| of(&with_caches, 1) - of(&figures, 1);
        assert_eq!(more(Figures::call), Time::from_micros(100));
        assert_eq!(more(Figures::end_of_budget), Time::from_micros(50));
    }
}
