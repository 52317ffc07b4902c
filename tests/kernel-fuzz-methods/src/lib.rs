//! Counts of the methods that a fuzzer has called, for the fuzzers on the host and on the target.
#![no_std]

use abi::Method;

/// One more than the highest index of a method. Index 0 is that of [`Method::InvalidInvocation`].
pub const METHODS: usize = Method::COUNT + Method::ADDITIONS.len();

/// The method with an index below [`METHODS`]: first those of seL4, then those of Escapement.
pub fn method(index: usize) -> Option<Method> {
    match index.checked_sub(Method::COUNT) {
        None => Method::from_number(index),
        Some(addition) => Method::ADDITIONS.get(addition).copied(),
    }
}

/// The index of the method with a label.
pub fn index(label: usize) -> Option<usize> {
    let method = Method::from_number(label)?;
    let addition = Method::ADDITIONS.iter().position(|one| *one == method);
    Some(addition.map_or(label, |addition| Method::COUNT + addition))
}

/// All methods that this build has.
pub fn methods() -> impl Iterator<Item = Method> {
    (1..METHODS).filter_map(method)
}

/// The calls of one method.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// How often it was called.
    pub tried: usize,
    /// How often it succeeded.
    pub succeeded: usize,
}

/// The calls of each method.
#[derive(Clone, Debug)]
pub struct Counts([Count; METHODS]);

impl Counts {
    /// Adds calls of the method with an index.
    pub fn add(&mut self, index: usize, count: Count) {
        self.0[index].tried += count.tried;
        self.0[index].succeeded += count.succeeded;
    }

    /// Adds the calls that others counted.
    pub fn add_all(&mut self, others: &Self) {
        for (index, count) in others.0.iter().enumerate() {
            self.add(index, *count);
        }
    }

    /// The calls of a method.
    pub fn of(&self, method: Method) -> Count {
        index(method.number()).map_or(Count::default(), |index| self.0[index])
    }

    /// The methods that never succeeded.
    pub fn unreached(&self) -> impl Iterator<Item = Method> {
        methods().filter(|method| self.of(*method).succeeded == 0)
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self([Count::default(); METHODS])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_is_that_of_its_method() {
        for index in 0..METHODS {
            let method = method(index).unwrap();
            assert_eq!(super::index(method.number()), Some(index));
        }
        assert_eq!((method(METHODS), index(Method::COUNT)), (None, None));
    }
}
