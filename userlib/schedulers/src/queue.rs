//! A priority queue of tasks in which each task stands at most once.
//!
//! A binary heap that knows the position of each task, so that a task can leave from the middle and its key
//! can change in O(log n). The bounded heap of the crate `heapless` can do neither.

use crate::task::TaskId;

/// Tasks ordered by a key, the smallest first; tasks with equal keys in the order of their numbers.
#[derive(Clone, Debug)]
pub struct Queue<K, const TASKS: usize> {
    /// The heap: no entry is smaller than the one at half its index (counted from 1).
    heap: [(K, TaskId); TASKS],
    length: usize,
    /// Where each task stands in the heap.
    position: [Option<u16>; TASKS],
}

impl<K: Ord + Copy + Default, const TASKS: usize> Default for Queue<K, TASKS> {
    fn default() -> Self {
        const { assert!(TASKS <= u16::MAX as usize, "task numbers have 16 bits") };
        Self {
            heap: [(K::default(), TaskId(0)); TASKS],
            length: 0,
            position: [None; TASKS],
        }
    }
}

impl<K: Ord + Copy + Default, const TASKS: usize> Queue<K, TASKS> {
    /// The smallest key and its task.
    pub fn first(&self) -> Option<(K, TaskId)> {
        self.heap[..self.length].first().copied()
    }

    /// Whether the task is in the queue.
    pub fn contains(&self, task: TaskId) -> bool {
        self.position[task.index()].is_some()
    }

    /// The number of tasks in the queue.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether no task is in the queue.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The tasks in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (K, TaskId)> + '_ {
        self.heap[..self.length].iter().copied()
    }

    /// Inserts the task, or changes its key.
    pub fn set(&mut self, task: TaskId, key: K) {
        let index = match self.position[task.index()] {
            Some(index) => usize::from(index),
            None => {
                self.length += 1;
                self.length - 1
            }
        };
        self.settle(index, (key, task));
    }

    /// Removes the task; whether it was in the queue.
    pub fn remove(&mut self, task: TaskId) -> bool {
        let Some(index) = self.position[task.index()].take() else {
            return false;
        };
        self.length -= 1;
        let index = usize::from(index);
        if index < self.length {
            self.settle(index, self.heap[self.length]);
        }
        true
    }

    fn put(&mut self, index: usize, entry: (K, TaskId)) {
        self.heap[index] = entry;
        self.position[entry.1.index()] = Some(index as u16);
    }

    /// Puts an entry into the heap: at `index`, where no entry is needed any more, or up or down from there.
    fn settle(&mut self, mut index: usize, entry: (K, TaskId)) {
        while index > 0 {
            let parent = (index - 1) / 2;
            if entry >= self.heap[parent] {
                break;
            }
            self.put(index, self.heap[parent]);
            index = parent;
        }
        loop {
            let [left, right] = [2 * index + 1, 2 * index + 2];
            let Some(&(mut first)) = self.heap[..self.length].get(left) else {
                break;
            };
            let mut child = left;
            if let Some(&other) = self.heap[..self.length].get(right)
                && other < first
            {
                (child, first) = (right, other);
            }
            if first >= entry {
                break;
            }
            self.put(index, first);
            index = child;
        }
        self.put(index, entry);
    }
}
