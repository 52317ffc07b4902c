//! A priority queue of tasks in which each task stands at most once.
//!
//! A binary heap that knows the position of each task, so that a task can leave from the middle and its key
//! can change in O(log n). The bounded heap of the crate `heapless` can do neither.

use crate::task::TaskId;

/// The place of a task that is not in the queue.
const ABSENT: u16 = u16::MAX;

/// Tasks ordered by a key, the smallest first; tasks with equal keys in the order of their numbers.
#[derive(Clone, Debug)]
pub struct Queue<K, const TASKS: usize> {
    /// The heap: no entry is smaller than the one at half its index (counted from 1).
    heap: [(K, TaskId); TASKS],
    length: usize,
    /// Where each task stands in the heap, or [`ABSENT`].
    position: [u16; TASKS],
}

impl<K: Ord + Copy + Default, const TASKS: usize> Default for Queue<K, TASKS> {
    fn default() -> Self {
        const { assert!(TASKS <= u16::MAX as usize, "task numbers have 16 bits") };
        Self {
            heap: [(K::default(), TaskId(0)); TASKS],
            length: 0,
            position: [ABSENT; TASKS],
        }
    }
}

impl<K: Ord + Copy + Default, const TASKS: usize> Queue<K, TASKS> {
    /// The smallest key and its task.
    pub fn first(&self) -> Option<(K, TaskId)> {
        (self.length > 0).then(|| self.heap[0])
    }

    /// Whether the task is in the queue.
    pub fn contains(&self, task: TaskId) -> bool {
        self.position[task.index()] != ABSENT
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
    #[inline]
    pub fn set(&mut self, task: TaskId, key: K) {
        match self.position[task.index()] {
            ABSENT => {
                self.length += 1;
                self.rise(self.length - 1, (key, task));
            }
            index => self.settle(usize::from(index), (key, task)),
        }
    }

    /// Removes the task; whether it was in the queue.
    pub fn remove(&mut self, task: TaskId) -> bool {
        let index = core::mem::replace(&mut self.position[task.index()], ABSENT);
        if index == ABSENT {
            return false;
        }
        self.length -= 1;
        let index = usize::from(index);
        if index < self.length {
            self.settle(index, self.heap[self.length]);
        }
        true
    }

    /// Puts an entry into the heap: at `index`, where no entry is needed any more, or up or down from there.
    ///
    /// The gap moves down to a leaf, and the entry up from there: the last entry, which fills the gap of the first, belongs
    /// near the leaves, so this saves a comparison at most levels (I. Wegener, Theoretical Computer Science, 1993).
    fn settle(&mut self, mut index: usize, entry: (K, TaskId)) {
        let heap = &mut self.heap[..self.length];
        loop {
            let left = 2 * index + 1;
            let (child, smaller) = match heap.get(left..) {
                Some([one, two, ..]) if two < one => (left + 1, *two),
                Some([one, ..]) => (left, *one),
                _ => break,
            };
            heap[index] = smaller;
            self.position[smaller.1.index()] = index as u16;
            index = child;
        }
        self.rise(index, entry);
    }

    /// Puts an entry into the heap: at `index`, where no entry is needed any more, and which has no children, or up from there.
    #[inline(always)]
    fn rise(&mut self, mut index: usize, entry: (K, TaskId)) {
        while index > 0 {
            let parent = (index - 1) / 2;
            let above = self.heap[parent];
            if entry >= above {
                break;
            }
            self.heap[index] = above;
            self.position[above.1.index()] = index as u16;
            index = parent;
        }
        self.heap[index] = entry;
        self.position[entry.1.index()] = index as u16;
    }
}
