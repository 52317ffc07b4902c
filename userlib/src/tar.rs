//! Reader of the archive behind a root task's program.
//!
//! The format is POSIX ustar: 512-byte headers, file contents padded to 512 bytes. Only plain files with
//! short names are found.

const BLOCK: usize = 512;

/// The contents of the file `name`, if it is in the archive.
pub fn find<'a>(archive: &'a [u8], name: &str) -> Option<&'a [u8]> {
    files(archive)
        .find(|(found, _)| *found == name)
        .map(|(_, contents)| contents)
}

/// Names and contents of all files, up to the first invalid header.
pub fn files(archive: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    let mut rest = archive;
    core::iter::from_fn(move || {
        loop {
            let (header, tail) = rest.split_first_chunk::<BLOCK>()?;
            if header[0] == 0 {
                return None;
            }
            let size = octal(&header[124..136])?;
            let contents = tail.get(..size)?;
            rest = tail.get(size.next_multiple_of(BLOCK)..).unwrap_or(&[]);
            let name = text(&header[..100])?;
            let is_file = matches!(header[156], b'0' | 0);
            if is_file {
                return Some((name.strip_prefix("./").unwrap_or(name), contents));
            }
        }
    })
}

fn text(field: &[u8]) -> Option<&str> {
    let end = field.iter().position(|&byte| byte == 0);
    core::str::from_utf8(&field[..end.unwrap_or(field.len())]).ok()
}

fn octal(field: &[u8]) -> Option<usize> {
    let digits = text(field)?.trim();
    usize::from_str_radix(digits, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, size: usize, kind: u8) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        block[156] = kind;
        block
    }

    fn archive() -> Vec<u8> {
        let mut bytes = header("dir/", 0, b'5');
        bytes.extend(header("./first", 3, b'0'));
        bytes.extend([1, 2, 3]);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes.extend(header("second", BLOCK, b'0'));
        bytes.extend([7; BLOCK]);
        bytes.extend([0; 2 * BLOCK]);
        bytes
    }

    #[test]
    fn files_are_found_by_name() {
        let archive = archive();
        assert_eq!(find(&archive, "first"), Some(&[1, 2, 3][..]));
        assert_eq!(find(&archive, "second").map(<[u8]>::len), Some(BLOCK));
        assert_eq!(find(&archive, "dir/"), None);
        assert_eq!(files(&archive).count(), 2);
    }

    #[test]
    fn garbage_ends_the_list() {
        let mut archive = archive();
        archive[BLOCK + 124] = b'9';
        assert_eq!(files(&archive).count(), 0);
        assert_eq!(files(&archive[..BLOCK + 100]).count(), 0);
        assert_eq!(files(&[]).count(), 0);
    }
}
