//! A FIFO of bounded length in which an entry can leave from any place.

/// Up to `N` different entries, the oldest first. Each operation takes at most `N` steps.
#[derive(Clone, Debug)]
pub(super) struct Fifo<T, const N: usize> {
    entries: [T; N],
    length: usize,
}

impl<T: Copy + Default + PartialEq, const N: usize> Default for Fifo<T, N> {
    fn default() -> Self {
        Self {
            entries: [T::default(); N],
            length: 0,
        }
    }
}

impl<T: Copy + PartialEq, const N: usize> Fifo<T, N> {
    pub(super) fn entries(&self) -> &[T] {
        &self.entries[..self.length]
    }

    pub(super) fn entries_mut(&mut self) -> &mut [T] {
        &mut self.entries[..self.length]
    }

    pub(super) fn first(&self) -> Option<T> {
        self.entries().first().copied()
    }

    pub(super) fn contains(&self, entry: T) -> bool {
        self.entries().contains(&entry)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends the entry; whether there was room.
    pub(super) fn push(&mut self, entry: T) -> bool {
        let has_room = self.length < N;
        if has_room {
            self.entries[self.length] = entry;
            self.length += 1;
        }
        has_room
    }

    /// Removes the entry; whether it was there. The order of the others stays.
    pub(super) fn remove(&mut self, entry: T) -> bool {
        let entries = self.entries_mut();
        let Some(place) = entries.iter().position(|it| *it == entry) else {
            return false;
        };
        entries[place..].rotate_left(1);
        self.length -= 1;
        true
    }
}
