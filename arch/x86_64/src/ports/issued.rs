//! The set of issued I/O ports.
//!
//! A range can have 65,536 ports, so updating a bit for each would take long. There are three sets: of
//! ports; of *blocks* of 64 ports in which any has been issued; and of blocks that lie completely in an
//! issued range and are recorded as a whole. A range marks at most two blocks port by port, those at its
//! ends, and the blocks between them by sixteen words of the other two sets.

use crate::cap::PortsCap;

const BLOCK: usize = 64;
const BLOCKS: usize = (1 << 16) / BLOCK;

/// A set of blocks.
#[derive(Clone, Copy)]
struct Blocks([u64; BLOCKS / 64]);

impl Blocks {
    const NONE: Self = Self([0; BLOCKS / 64]);

    fn contains(&self, block: usize) -> bool {
        self.0[block / 64] >> (block % 64) & 1 != 0
    }

    fn set(&mut self, block: usize, member: bool) {
        let bit = 1 << (block % 64);
        if member {
            self.0[block / 64] |= bit;
        } else {
            self.0[block / 64] &= !bit;
        }
    }

    /// The words of the blocks from `first` up to `end`, each with the mask of these blocks.
    fn words(&mut self, first: usize, end: usize) -> impl Iterator<Item = (&mut u64, u64)> {
        self.0
            .iter_mut()
            .enumerate()
            .filter_map(move |(index, word)| {
                let low = first.saturating_sub(index * 64).min(64);
                let high = end.saturating_sub(index * 64).min(64);
                (low < high).then(|| (word, mask(low, high)))
            })
    }
}

/// Bits `low` up to, not including, `high`.
const fn mask(low: usize, high: usize) -> u64 {
    (u64::MAX >> (64 - (high - low))) << low
}

/// The ports that have been issued.
pub struct IssuedPorts {
    ports: &'static mut [u64; BLOCKS],
    /// Blocks in which any port has been issued.
    any: Blocks,
    /// Blocks that lie completely in an issued range.
    whole: Blocks,
}

/// The blocks of a range: those at its ends, with the mask of their ports; and those between them.
fn parts(range: PortsCap) -> ([Option<(usize, u64)>; 2], core::ops::Range<usize>) {
    let (first, last) = (usize::from(range.first), usize::from(range.last));
    let (first_block, last_block) = (first / BLOCK, last / BLOCK);
    let (low, high) = (first % BLOCK, last % BLOCK + 1);
    if first_block == last_block {
        let ends = [Some((first_block, mask(low, high))), None];
        return (ends, first_block..first_block);
    }
    let ends = [
        Some((first_block, mask(low, BLOCK))),
        Some((last_block, mask(0, high))),
    ];
    (ends, first_block + 1..last_block)
}

impl IssuedPorts {
    /// No issued ports.
    ///
    /// # Safety
    /// Called once.
    pub unsafe fn new() -> Self {
        static mut PORTS: [u64; BLOCKS] = [0; BLOCKS];
        let ports = &raw mut PORTS;
        // SAFETY: this is the only call, hence the only reference.
        let ports = unsafe { &mut *ports };
        Self {
            ports,
            any: Blocks::NONE,
            whole: Blocks::NONE,
        }
    }

    /// Whether any port of a range has been issued.
    pub fn any(&mut self, range: PortsCap) -> bool {
        let (ends, between) = parts(range);
        let mut ends = ends.into_iter().flatten();
        ends.any(|(block, ports)| self.ports[block] & ports != 0 || self.whole.contains(block))
            || self
                .any
                .words(between.start, between.end)
                .any(|(word, blocks)| *word & blocks != 0)
    }

    /// Issues a range, of which no port has been issued.
    pub fn issue(&mut self, range: PortsCap) {
        let (ends, between) = parts(range);
        for (block, ports) in ends.into_iter().flatten() {
            self.ports[block] |= ports;
            self.any.set(block, true);
        }
        for blocks in [&mut self.any, &mut self.whole] {
            for (word, blocks) in blocks.words(between.start, between.end) {
                *word |= blocks;
            }
        }
    }

    /// Makes an issued range available again.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn release(&mut self, range: PortsCap) {
        let (ends, between) = parts(range);
        for (block, ports) in ends.into_iter().flatten() {
            self.ports[block] &= !ports;
            let any = self.ports[block] != 0;
            self.any.set(block, any);
        }
        for blocks in [&mut self.any, &mut self.whole] {
            for (word, blocks) in blocks.words(between.start, between.end) {
                *word &= !blocks;
            }
        }
    }
}
