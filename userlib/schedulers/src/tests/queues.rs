//! The queue against a sorted set.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{Queue, TaskId};

proptest! {
    #[test]
    fn the_first_is_the_smallest(steps in prop::collection::vec((0u16..24, prop::option::of(0u64..12)), 0..300)) {
        let mut queue = Queue::<u64, 24>::default();
        let mut model = BTreeMap::new();
        for (task, key) in steps {
            let id = TaskId(task);
            match key {
                Some(key) => {
                    queue.set(id, key);
                    model.insert(id, key);
                }
                None => prop_assert_eq!(queue.remove(id), model.remove(&id).is_some()),
            }
            let first = model.iter().map(|(&id, &key)| (key, id)).min();
            prop_assert_eq!(queue.first(), first);
            prop_assert_eq!(queue.len(), model.len());
            prop_assert_eq!(queue.is_empty(), model.is_empty());
            prop_assert!((0..24).all(|id| queue.contains(TaskId(id)) == model.contains_key(&TaskId(id))));
        }
        let mut rest: Vec<_> = queue.iter().collect();
        rest.sort();
        for entry in rest {
            prop_assert_eq!(queue.first(), Some(entry));
            queue.remove(entry.1);
        }
    }
}
