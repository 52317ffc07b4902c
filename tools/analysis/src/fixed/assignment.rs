//! Assignment of priorities. An order is a list of places in the set, the highest priority first.

use crate::model::{Priority, Task};
use crate::{Error, Finding, Method, Result};

/// [`rate_monotonic`] and its source.
pub const RATE_MONOTONIC: Method = Method {
    name: "rate-monotonic priorities",
    source: "Liu and Layland, JACM 1973",
    assumptions: &["optimal if deadlines equal periods, without jitter and blocking"],
};

/// [`deadline_monotonic`] and its source.
pub const DEADLINE_MONOTONIC: Method = Method {
    name: "deadline-monotonic priorities, by deadline less jitter",
    source: "Leung and Whitehead, Performance Evaluation 1982; Zuhily and Burns, IPL 2007 (jitter)",
    assumptions: &["optimal if deadlines are not above periods, without blocking"],
};

/// [`audsley`] and its source.
pub const AUDSLEY: Method = Method {
    name: "optimal priority assignment",
    source: "Audsley, IPL 2001; Davis and Burns, RTS 2011 (conditions)",
    assumptions: &[
        "the test depends on which tasks have higher priority, not on their order",
        "a task that fits at a priority fits at a higher one",
    ],
};

/// By period; the shorter, the higher.
pub fn rate_monotonic(tasks: &[Task]) -> Finding<Vec<usize>> {
    RATE_MONOTONIC.finds(by(tasks, |task| task.period()))
}

/// By deadline less jitter; the shorter, the higher.
pub fn deadline_monotonic(tasks: &[Task]) -> Finding<Vec<usize>> {
    DEADLINE_MONOTONIC.finds(by(tasks, |task| task.deadline() - task.jitter()))
}

fn by<K: Ord>(tasks: &[Task], key: impl Fn(&Task) -> K) -> Vec<usize> {
    let mut order: Vec<_> = (0..tasks.len()).collect();
    order.sort_by_key(|place| key(&tasks[*place]));
    order
}

/// An order in which all of `count` tasks fit, or none if there is none. `fits(task, higher)` tells whether the task
/// meets its deadline below all of `higher`.
///
/// # Errors
/// Those of `fits`.
pub fn audsley(
    count: usize,
    mut fits: impl FnMut(usize, &[usize]) -> Result<bool>,
) -> Result<Finding<Option<Vec<usize>>>> {
    let mut left: Vec<_> = (0..count).collect();
    let mut from_lowest = Vec::new();
    while !left.is_empty() {
        let mut found = None;
        // Later tasks first, so that an order that fits already stays.
        for place in (0..left.len()).rev() {
            let mut higher = left.clone();
            let task = higher.remove(place);
            if fits(task, &higher)? {
                found = Some(place);
                break;
            }
        }
        let Some(place) = found else {
            return Ok(AUDSLEY.finds(None));
        };
        from_lowest.push(left.remove(place));
    }
    from_lowest.reverse();
    Ok(AUDSLEY.finds(Some(from_lowest)))
}

/// The priorities of an order, from `highest` downwards, in the order of the set.
///
/// # Errors
/// If there are not enough priorities.
pub fn priorities(order: &[usize], highest: Priority) -> Result<Vec<Priority>> {
    if order.len() > usize::from(highest.0) + 1 {
        let why = format!(
            "{} tasks need as many priorities, and there are {} from {} downwards; use EDF, or give tasks the same \
             priority",
            order.len(),
            usize::from(highest.0) + 1,
            highest.0
        );
        return Err(Error::impossible("priorities", why));
    }
    let mut places: Vec<_> = order.iter().copied().zip((0..=highest.0).rev()).collect();
    places.sort_unstable();
    Ok(places
        .into_iter()
        .map(|(_, priority)| Priority(priority))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_go_back_to_their_tasks() {
        let found = priorities(&[2, 0, 1], Priority(9)).unwrap();
        assert_eq!(found, [8, 7, 9].map(Priority));
        let order: Vec<_> = (0..4).collect();
        let error = priorities(&order, Priority(2)).unwrap_err().to_string();
        assert!(error.contains("there are 3 from 2"), "{error}");
    }
}
