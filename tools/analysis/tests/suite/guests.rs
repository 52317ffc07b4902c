//! Guests as proxies.

use schedulability::Time;
use schedulability::fixed::rate_monotonic;
use schedulability::generate::Generator;
use schedulability::guests::{Slots, proxy};
use schedulability::model::Task;
use schedulability::supply::{Recurring, Supply};

use super::fixed::bounds;

fn fits(tasks: &[Task], supply: &dyn Supply) -> bool {
    let order = rate_monotonic(tasks).value;
    let ordered: Vec<_> = order.iter().map(|place| tasks[*place].clone()).collect();
    let Some(bounds) = bounds(&ordered, supply) else {
        return false;
    };
    ordered
        .iter()
        .zip(bounds)
        .all(|(task, bound)| bound <= task.deadline().nanos())
}

fn guest(random: &mut Generator) -> Vec<Task> {
    let count = 1 + random.below(5) as usize;
    let used = 0.1 + 0.5 * random.unit();
    let utilisations = random.fixed_sum(count, used).unwrap();
    random
        .tasks(
            &utilisations,
            Time::from_micros(1_000),
            Time::from_micros(20_000),
        )
        .unwrap()
}

/// Fixed slots and sliding budgets of a quarter hold in exact analysis; a sliding budget with the formula for fixed
/// slots does not, which is the negative control.
#[test]
fn proxies_suffice() {
    let mut random = Generator::new(40);
    let (mut compared, mut sliding_fails) = (0, 0);
    while compared < 1_000 {
        let tasks = guest(&mut random);
        let [fixed, sliding] =
            [Slots::Fixed, Slots::Sliding].map(|slots| proxy(&tasks, slots).unwrap().value);
        let (Some(fixed), Some(sliding)) = (fixed, sliding) else {
            continue;
        };
        assert!(
            fits(&tasks, &fixed.supply().unwrap()),
            "{tasks:?} {fixed:?}"
        );
        assert!(
            fits(&tasks, &sliding.supply().unwrap()),
            "{tasks:?} {sliding:?}"
        );
        let wrong = Recurring::sliding(fixed.budget, fixed.period).unwrap();
        sliding_fails += u32::from(!fits(&tasks, &wrong));
        compared += 1;
    }
    assert!(sliding_fails > 400, "{sliding_fails}");
}

#[test]
fn a_guest_of_too_much_has_no_proxy() {
    let tasks: Vec<_> = (0..9).map(|_| super::random::task(8, 90, 90)).collect();
    assert_eq!(proxy(&tasks, Slots::Fixed).unwrap().value, None);
    assert!(proxy(&[], Slots::Fixed).is_err());
    assert!(proxy(&[super::random::task(1, 9, 8)], Slots::Fixed).is_err());
}
