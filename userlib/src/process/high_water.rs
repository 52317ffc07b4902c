//! How much of its stack and heap a process has used so far: memory is zero before.

use super::reset::Complete;
use super::{ProcessSize, inspection};
use crate::environment::PAGE;
use crate::loader::Program;
use crate::{Environment, Error, Result};

/// The most pages that are looked at: a parent that has other duties must not be away for long.
const MOST_PAGES: usize = 128;

/// Bytes that were used at the most. A process that has written nothing but zeros there has used less in truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HighWater {
    /// Of its stack.
    pub stack: usize,
    /// Of its heap, whose allocations begin at the lowest free address.
    pub heap: usize,
}

impl Complete {
    /// Looks for the last words of stack and heap that are not zero, from the ends which are used last.
    ///
    /// # Errors
    /// If the process may write more than 512 KiB.
    pub fn high_water(
        &self,
        environment: &mut Environment,
        program: &Program,
        size: ProcessSize,
    ) -> Result<HighWater> {
        if self.writable_pages() > MOST_PAGES {
            return Err(Error::OutOfResources);
        }
        // In the order of the frames: program, stack from the top, buffer, heap.
        let stack = inspection::written_pages(program)?;
        let heap = stack + size.stack_pages + 1;
        Ok(HighWater {
            stack: self.touched(environment, stack, size.stack_pages, below)?,
            heap: self.touched(environment, heap, size.heap_pages, up_to)?,
        })
    }

    /// The bytes up to the last used one of `count` pages; `used` says how many those of a page are.
    fn touched(
        &self,
        environment: &mut Environment,
        first: usize,
        count: usize,
        used: fn(&[u8]) -> Option<usize>,
    ) -> Result<usize> {
        for page in (0..count).rev() {
            let mut bytes = None;
            self.read_writable(environment, first + page, |page| bytes = used(page))?;
            if let Some(bytes) = bytes {
                return Ok(page * PAGE + bytes);
            }
        }
        Ok(0)
    }
}

/// The used bytes of a page that is used from its end downwards.
fn below(page: &[u8]) -> Option<usize> {
    let unused = page.iter().position(|&byte| byte != 0)?;
    Some(page.len() - unused)
}

/// The used bytes of a page that is used from its beginning upwards.
fn up_to(page: &[u8]) -> Option<usize> {
    let last = page.iter().rposition(|&byte| byte != 0)?;
    Some(last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_used_part_ends_at_a_byte_that_is_not_zero() {
        let mut page = [0; PAGE];
        assert_eq!((below(&page), up_to(&page)), (None, None));
        page[PAGE - 1] = 1;
        assert_eq!((below(&page), up_to(&page)), (Some(1), Some(PAGE)));
        page[16] = 1;
        assert_eq!(below(&page), Some(PAGE - 16));
        page[PAGE - 1] = 0;
        assert_eq!(up_to(&page), Some(17));
    }
}
