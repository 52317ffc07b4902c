//! Cores, priorities and budgets with which a system is in time, as lines for its description.
//!
//! Components that share a passive server stay together, and a driver stays where its interrupts are. Whether a core
//! holds what it gets is decided by the whole analysis.

mod budgets;
mod cores;
mod forms;
mod priorities;

use schedulability::partition::Fit;
use system_description::System;

pub use cores::Tried;

use crate::analyse::analyse;
use crate::model::prioritised;
use crate::{Figures, Report};

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

/// What was found.
pub struct Assignment {
    /// The system as described.
    before: System,
    /// The system with the assignment, if there is one.
    pub system: Option<System>,
    /// The ways in which cores were assigned, with their results.
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
    let one = |problem: String| vec![problem];
    if !system.schedulers.is_empty() {
        let why = "components under a user-level scheduler have no priorities of their own to assign; \
                   `cargo xtask analyse` decides about its clusters";
        return Err(one(why.into()));
    }
    if system.domains.len() > 1 {
        let why =
            "turns of domains are the same on all cores; `cargo xtask analyse guests` finds them";
        return Err(one(why.into()));
    }
    let has_own_priorities = system.components.iter().all(|one| one.priority.is_some());
    let known = prioritised(system).map_err(one)?;
    let report = analyse(&known, figures)?;
    let most = most.unwrap_or_else(|| u32::try_from(known.cores().len()).unwrap_or(u32::MAX));
    let choose = |trial: &System, core: u32, cores: usize| {
        let figures = figures.as_if(cores, trial.cores().len());
        priorities::of(trial, &figures, core, !has_own_priorities)
    };
    let mut found = Assignment {
        before: system.clone(),
        system: None,
        tried: Vec::new(),
        report,
    };
    for packing in [
        Packing::Described,
        Packing::Fit(Fit::Worst),
        Packing::Fit(Fit::First),
        Packing::Fit(Fit::Best),
        Packing::Exact,
    ] {
        if packing != Packing::Described && most <= 1 {
            break;
        }
        let assigned = cores::of(&known, packing, most, &choose).map_err(one)?;
        // The budgets come last, as they depend on all of the core; the whole analysis decides.
        let complete = assigned.and_then(|assigned| {
            let system = budgets::of(&assigned, figures);
            let report = analyse(&system, figures).ok()?;
            report.holds.then_some((system, report))
        });
        found.tried.push(Tried {
            packing,
            is_found: complete.is_some(),
        });
        if let Some((system, report)) = complete
            && found.system.is_none()
        {
            found.system = Some(system);
            found.report = report;
        }
        if packing == Packing::Described && found.system.is_some() {
            break;
        }
    }
    Ok(found)
}
