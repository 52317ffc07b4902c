//! The windows of subtasks are as defined (J. Anderson and A. Srinivasan, 2004).

use super::weight;
use crate::Weight;

/// The windows of weight 8/11 (Anderson and Srinivasan, 2004, figure 1).
#[test]
fn windows_are_those_of_the_paper() {
    let windows = (1..9).map(|subtask| weight(8, 11).window(subtask));
    let windows: Vec<_> = windows
        .map(|it| (it.release, it.deadline, it.overlaps, it.group))
        .collect();
    let expected = [
        (0, 2, true, 4),
        (1, 3, true, 4),
        (2, 5, true, 8),
        (4, 6, true, 8),
        (5, 7, true, 8),
        (6, 9, true, 11),
        (8, 10, true, 11),
        (9, 11, false, 11),
    ];
    assert_eq!(windows, expected);
}

/// The release and the end of the window of a subtask of a task that never ends, counted from 1.
fn window(Weight { budget, period }: Weight, subtask: u64) -> (u64, u64) {
    let [budget, period] = [budget, period].map(u64::from);
    // The largest and the smallest whole number that are not more, or less, than the quotient.
    let release = (0..=subtask * period).rfind(|it| it * budget <= (subtask - 1) * period);
    let deadline = (0..=subtask * period).find(|it| it * budget >= subtask * period);
    (release.unwrap(), deadline.unwrap())
}

/// The earliest time, not before the deadline of the subtask, at which a window ends that does not overlap the next one, or
/// would end if it were not of three quanta.
fn group_deadline(weight: Weight, subtask: u64) -> u64 {
    let (_, first) = window(weight, subtask);
    let mut following = subtask;
    loop {
        let (release, deadline) = window(weight, following);
        let (next, _) = window(weight, following + 1);
        if deadline >= first && next == deadline {
            return deadline;
        }
        if deadline > first && deadline - release == 3 {
            return deadline - 1;
        }
        following += 1;
    }
}

#[test]
fn windows_are_as_defined() {
    for period in 1..=24 {
        for budget in 1..=period {
            let weight = weight(budget, period);
            for subtask in 1..=budget {
                let it = weight.window(subtask as u32);
                let (release, deadline) = window(weight, subtask);
                let (next, _) = window(weight, subtask + 1);
                assert_eq!((it.release, it.deadline), (release, deadline));
                assert_eq!(it.overlaps, next < deadline);
                let is_heavy = 2 * budget >= period && budget < period;
                let expected = match is_heavy {
                    true => group_deadline(weight, subtask),
                    false => 0,
                };
                assert_eq!(it.group, expected, "{weight:?}, {subtask}");
            }
        }
    }
}

#[test]
fn the_largest_weights_do_not_overflow() {
    let longest = u64::from(u32::MAX);
    for budget in [1, longest / 2, longest / 2 + 1, longest - 1, longest] {
        let last = weight(budget, longest).window(budget as u32);
        assert_eq!((last.deadline, last.overlaps), (longest, false));
        let heavy = [longest / 2 + 1, longest - 1].contains(&budget);
        assert_eq!(last.group, if heavy { longest } else { 0 });
    }
}
