//! A priority queue of tasks in which each task stands at most once.
//!
//! A binary heap that knows the position of each task, so that a task can leave from the middle and its key
//! can change in O(log n). The bounded heap of the crate `heapless` can do neither.
//!
//! The removal of the first leaves a gap at the root, which the next insertion fills: in a scheduler's queues the two
//! alternate. So a removal takes O(1), and both together go down the heap once instead of twice. Only another removal before
//! the insertion has to close the gap.

use crate::task::TaskId;

/// The place of a task that is not in the queue.
const ABSENT: u16 = u16::MAX;

/// Tasks ordered by a key, the smallest first; tasks with equal keys in the order of their numbers.
#[derive(Clone, Debug)]
pub struct Queue<K, const TASKS: usize> {
    /// The heap: no entry is smaller than the one at half its index (counted from 1).
    heap: [(K, TaskId); TASKS],
    /// Its length, with the gap.
    length: usize,
    /// Whether the root is a gap.
    gap: bool,
    /// Where each task stands in the heap, or [`ABSENT`].
    position: [u16; TASKS],
}

impl<K: Ord + Copy + Default, const TASKS: usize> Default for Queue<K, TASKS> {
    fn default() -> Self {
        const { assert!(TASKS <= u16::MAX as usize, "task numbers have 16 bits") };
        Self {
            heap: [(K::default(), TaskId(0)); TASKS],
            length: 0,
            gap: false,
            position: [ABSENT; TASKS],
        }
    }
}

impl<K: Ord + Copy + Default, const TASKS: usize> Queue<K, TASKS> {
    /// The smallest key and its task.
    #[inline]
    pub fn first(&self) -> Option<(K, TaskId)> {
        match &self.heap[..self.length] {
            [_, one, two, ..] if self.gap => Some(*one.min(two)),
            [_, rest @ ..] if self.gap => rest.first().copied(),
            heap => heap.first().copied(),
        }
    }

    /// Whether the task is in the queue.
    pub fn contains(&self, task: TaskId) -> bool {
        self.position[task.index()] != ABSENT
    }

    /// The number of tasks in the queue.
    pub fn len(&self) -> usize {
        self.length - usize::from(self.gap)
    }

    /// Whether no task is in the queue.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tasks in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (K, TaskId)> + '_ {
        let present = &self.heap[usize::from(self.gap)..self.length];
        present.iter().copied()
    }

    /// Inserts the task, or changes its key.
    #[inline]
    pub fn set(&mut self, task: TaskId, key: K) {
        let entry = (key, task);
        if self.contains(task) {
            self.close();
            self.settle(usize::from(self.position[task.index()]), entry);
        } else if core::mem::take(&mut self.gap) {
            self.sink(0, entry);
        } else {
            self.length += 1;
            self.rise(self.length - 1, entry);
        }
    }

    /// Removes the task; whether it was in the queue.
    #[inline]
    pub fn remove(&mut self, task: TaskId) -> bool {
        if !self.contains(task) {
            return false;
        }
        self.close();
        match core::mem::replace(&mut self.position[task.index()], ABSENT) {
            0 => self.gap = true,
            index => {
                self.length -= 1;
                let index = usize::from(index);
                if index < self.length {
                    self.settle(index, self.heap[self.length]);
                }
            }
        }
        true
    }

    /// Fills the gap, if there is one, with the last entry.
    #[inline]
    fn close(&mut self) {
        if core::mem::take(&mut self.gap) {
            self.length -= 1;
            if self.length > 0 {
                self.sink(0, self.heap[self.length]);
            }
        }
    }

    /// Puts an entry into the heap: at `index`, where no entry is needed any more, or up or down from there.
    fn settle(&mut self, index: usize, entry: (K, TaskId)) {
        if index > 0 && entry < self.heap[(index - 1) / 2] {
            self.rise(index, entry);
        } else {
            self.sink(index, entry);
        }
    }

    /// The same if it belongs there, or down from there.
    fn sink(&mut self, mut index: usize, entry: (K, TaskId)) {
        let heap = &mut self.heap[..self.length];
        loop {
            let left = 2 * index + 1;
            let (child, smaller) = match heap.get(left..) {
                Some([one, two, ..]) if two < one => (left + 1, *two),
                Some([one, ..]) => (left, *one),
                _ => break,
            };
            if entry <= smaller {
                break;
            }
            heap[index] = smaller;
            self.position[smaller.1.index()] = index as u16;
            index = child;
        }
        heap[index] = entry;
        self.position[entry.1.index()] = index as u16;
    }

    /// The same if it belongs there, or up from there.
    #[inline]
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
