//! Cores, priorities and budgets with which a system is in time, as lines for its description.
//!
//! Components that share a passive server stay together, and those with devices or interrupts stay on their core. Whether
//! a core holds what it gets is decided by the whole analysis.

mod budgets;
mod cores;
mod forms;
mod priorities;

use schedulability::partition::Fit;
use system_description::System;
use system_description::system::{FaultAction, Time, TimeoutAction, WHOLE};

use crate::analyse::analyse;
use crate::model::prioritised;
use crate::{Figures, Report};
use cores::Packed;

/// How components are assigned to cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As described.
    Described,
    /// One after the other, in order of decreasing utilisation.
    Fit(Fit),
    /// All assignments.
    Exact,
}

impl Packing {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Described => "as described",
            Self::Fit(Fit::Worst) => "worst fit",
            Self::Fit(Fit::First) => "first fit",
            Self::Fit(Fit::Best) => "best fit",
            Self::Exact => "exact",
        }
    }
}

/// What became of a packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All deadlines hold.
    InTime,
    /// Some do not, or a component found no core.
    NotInTime,
    /// The search was given up.
    GivenUp,
}

/// A packing that was tried, and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Tried {
    /// The packing.
    pub packing: Packing,
    /// The number of cores.
    pub cores: usize,
    /// What became of it.
    pub outcome: Outcome,
}

/// What was found.
pub struct Assignment {
    /// The system as described.
    before: System,
    /// The system with the assignment, if there is one.
    pub system: Option<System>,
    /// The packings that were tried, for ever more cores, until one was in time.
    pub tried: Vec<Tried>,
    /// The analysis of the system with the assignment; without one, of the system as described.
    pub report: Report,
}

/// Assigns components to at most `most` cores, or to as many as the description uses.
///
/// # Errors
/// What is not known, impossible, or not for this command: sentences.
pub fn assign(
    system: &System,
    figures: &Figures,
    most: Option<u32>,
) -> Result<Assignment, Vec<String>> {
    let may_choose = system.components.iter().all(|one| one.priority.is_none());
    require(system, may_choose).map_err(|problem| vec![problem])?;
    let known = prioritised(system).map_err(|problem| vec![problem])?;
    let used = known.cores();
    // Cores are numbered from 0 on.
    let described = used.last().map_or(1, |last| *last as usize + 1);
    let most = most.map_or(described, |most| most as usize);
    cores::require(&known, most).map_err(|problem| vec![problem])?;
    let mut found = Assignment {
        before: system.clone(),
        system: None,
        tried: Vec::new(),
        report: analyse(&known, figures)?,
    };
    if described <= most {
        found.attempt(&known, figures, Packing::Described, used.len(), may_choose)?;
        if found.system.is_some() {
            return Ok(found);
        }
    }
    for cores in 1..=most {
        for packing in [
            Packing::Fit(Fit::Worst),
            Packing::Fit(Fit::First),
            Packing::Fit(Fit::Best),
            Packing::Exact,
        ] {
            if found.system.is_some() && packing == Packing::Exact {
                break;
            }
            found.attempt(&known, figures, packing, cores, may_choose)?;
            // On one core, all packings are the same.
            if cores == 1 {
                break;
            }
        }
        if found.system.is_some() {
            break;
        }
    }
    Ok(found)
}

impl Assignment {
    /// Tries a packing.
    fn attempt(
        &mut self,
        known: &System,
        figures: &Figures,
        packing: Packing,
        cores: usize,
        may_choose: bool,
    ) -> Result<(), Vec<String>> {
        // Those that are packed, and those of what stays.
        let used = match packing {
            Packing::Described => cores,
            _ => cores::used(known, cores),
        };
        let choose = |trial: &System, core: u32| {
            let figures = figures.as_if(used, trial.cores().len());
            priorities::of(trial, &figures, core, may_choose)
        };
        let packed = cores::of(known, packing, cores, &choose).map_err(|problem| vec![problem])?;
        let outcome = match packed {
            Packed::GivenUp => Outcome::GivenUp,
            Packed::Nothing => Outcome::NotInTime,
            // The budgets come last, as they depend on all of the core; the whole analysis decides.
            Packed::Found(assigned) => {
                let system = budgets::of(&assigned, figures);
                let report = analyse(&system, figures);
                match report {
                    Ok(report) if report.holds && is_admitted(&system) => {
                        if self.system.is_none() {
                            (self.system, self.report) = (Some(system), report);
                        }
                        Outcome::InTime
                    }
                    _ => Outcome::NotInTime,
                }
            }
        };
        self.tried.push(Tried {
            packing,
            cores,
            outcome,
        });
        Ok(())
    }
}

/// Refuses systems for which lines cannot be proposed.
fn require(system: &System, may_choose: bool) -> Result<(), String> {
    let handles = |one: &system_description::system::Component| {
        matches!(one.on_fault, FaultAction::Handler(_))
            || matches!(one.on_timeout, TimeoutAction::Handler(_))
    };
    let refused = if !system.schedulers.is_empty() {
        "components under a user-level scheduler have no priorities of their own to assign; `cargo xtask analyse` \
         decides about its clusters"
    } else if system.domains.len() > 1 {
        "turns of domains are the same on all cores; `cargo xtask analyse guests` finds them"
    } else if system.components.iter().any(|one| one.instance.is_some()) {
        "instances of a component have one budget and one priority; write them as components of their own"
    } else if may_choose && system.components.iter().any(handles) {
        "handlers need priorities above what they handle, which this command does not choose; give all components \
         priorities"
    } else {
        return Ok(());
    };
    Err(refused.into())
}

/// Whether the check of descriptions takes the system: no core promises more than itself, and no slice is above the
/// supervisor.
fn is_admitted(system: &System) -> bool {
    let fits = |core: u32| {
        let contexts = system.contexts(core);
        let own = contexts.iter().map(|(_, _, context)| context.share());
        own.fold(0, u64::saturating_add) <= WHOLE
    };
    let leaves_time = |one: &system_description::system::Component| {
        let Some(supervisor) = system.supervisor.filter(|other| other.core == one.core) else {
            return true;
        };
        !matches!(one.time, Time::Slice(_)) || one.priority <= Some(supervisor.priority)
    };
    system.cores().into_iter().all(fits) && system.components.iter().all(leaves_time)
}
