//! Which task runs on which core.

use num_traits::Zero;

use crate::model::Task;
use crate::{Error, Finding, Method, Ratio, Result};

/// The core of each task, in the order of the set.
pub type Assignment = Vec<usize>;

/// Which of the cores that accept a task gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The first.
    First,
    /// The one with the highest utilisation.
    Best,
    /// The one with the lowest utilisation.
    Worst,
}

/// [`pack`] and its source.
pub const PACK: Method = Method {
    name: "partitioning by bin packing, in order of decreasing utilisation",
    source: "Johnson, 1973; Lopez, Diaz and Garcia, RTS 2004",
    assumptions: &["a heuristic: another assignment may exist where it finds none"],
};

/// [`exact`] and its source.
pub const EXACT: Method = Method {
    name: "partitioning by exhaustive search",
    source: "Baruah and Bini, DASIP 2008 (the problem); branch and bound over equal empty cores",
    assumptions: &["what a core accepts, it accepts without any of its tasks, too"],
};

/// The most tasks of [`exact`].
pub const MOST_EXACT: usize = 20;

/// A choice of cores, filled one task after the other.
struct Cores {
    tasks: Vec<Vec<usize>>,
    rates: Vec<Ratio>,
}

impl Cores {
    fn new(count: usize) -> Self {
        Self {
            tasks: vec![Vec::new(); count],
            rates: vec![Ratio::zero(); count],
        }
    }

    fn assignment(&self, tasks: usize) -> Assignment {
        let mut assignment = vec![0; tasks];
        for (core, placed) in self.tasks.iter().enumerate() {
            for task in placed {
                assignment[*task] = core;
            }
        }
        assignment
    }
}

/// Places in the set, the highest utilisation first.
fn decreasing(tasks: &[Task]) -> Vec<usize> {
    let mut order: Vec<_> = (0..tasks.len())
        .map(|task| (tasks[task].utilisation(), task))
        .collect();
    order.sort_by(|(one, _), (other, _)| other.cmp(one));
    order.into_iter().map(|(_, task)| task).collect()
}

/// An assignment to `cores` cores that each accept their tasks, or none if one task finds no core. `accepts` gets the
/// core, too.
///
/// # Errors
/// Those of `accepts`.
pub fn pack(
    tasks: &[Task],
    cores: usize,
    fit: Fit,
    mut accepts: impl FnMut(usize, &[usize]) -> Result<bool>,
) -> Result<Finding<Option<Assignment>>> {
    let mut filled = Cores::new(cores);
    for task in decreasing(tasks) {
        let mut order: Vec<_> = (0..cores).collect();
        // Sorting is stable, so equal cores stay in order.
        match fit {
            Fit::First => {}
            Fit::Best => order.sort_by(|one, other| filled.rates[*other].cmp(&filled.rates[*one])),
            Fit::Worst => order.sort_by(|one, other| filled.rates[*one].cmp(&filled.rates[*other])),
        }
        let mut found = None;
        for core in order {
            filled.tasks[core].push(task);
            if accepts(core, &filled.tasks[core])? {
                found = Some(core);
                break;
            }
            filled.tasks[core].pop();
        }
        let Some(core) = found else {
            return Ok(PACK.finds(None));
        };
        filled.rates[core] += tasks[task].utilisation();
    }
    Ok(PACK.finds(Some(filled.assignment(tasks.len()))))
}

/// An assignment to `cores` cores that each accept their tasks, or none if there is none. `accepts` gets the core,
/// too, and `is_plain` tells of a core whether it is like any other one as long as it has no tasks.
///
/// # Errors
/// If there are more than [`MOST_EXACT`] tasks; those of `accepts`.
pub fn exact(
    tasks: &[Task],
    cores: usize,
    is_plain: impl Fn(usize) -> bool,
    mut accepts: impl FnMut(usize, &[usize]) -> Result<bool>,
) -> Result<Finding<Option<Assignment>>> {
    if tasks.len() > MOST_EXACT {
        return Err(Error::NotApplicable {
            method: EXACT.name,
            why: format!("{} tasks are more than {MOST_EXACT}", tasks.len()),
        });
    }
    let order = decreasing(tasks);
    let mut filled = Cores::new(cores);
    let found = place(&order, &mut filled, &is_plain, &mut accepts)?;
    Ok(EXACT.finds(found.then(|| filled.assignment(tasks.len()))))
}

fn place(
    order: &[usize],
    filled: &mut Cores,
    is_plain: &impl Fn(usize) -> bool,
    accepts: &mut impl FnMut(usize, &[usize]) -> Result<bool>,
) -> Result<bool> {
    let Some((task, rest)) = order.split_first() else {
        return Ok(true);
    };
    // Empty cores that are like each other are tried once.
    let mut tried_empty = false;
    for core in 0..filled.tasks.len() {
        let is_like_others = filled.tasks[core].is_empty() && is_plain(core);
        if is_like_others && tried_empty {
            continue;
        }
        tried_empty |= is_like_others;
        filled.tasks[core].push(*task);
        if accepts(core, &filled.tasks[core])? && place(rest, filled, is_plain, accepts)? {
            return Ok(true);
        }
        filled.tasks[core].pop();
    }
    Ok(false)
}
