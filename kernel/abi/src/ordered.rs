//! Enumerations whose numbers depend on build options.

/// Declares an enumeration as one ordered table: each row has a condition, and a row's number is the
/// count of the rows before it whose condition holds. Rows of our own may follow: they always exist,
/// and are numbered from a base of their own.
macro_rules! ordered {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$row_meta:meta])* $row:ident if $condition:expr, )*
        }
        $( additions from $base:ident {
            $( $(#[$addition_meta:meta])* $addition:ident, )*
        } )?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $name {
            $( $(#[$row_meta])* $row, )*
            $( $( $(#[$addition_meta])* $addition, )* )?
        }

        impl $name {
            $(
                /// The rows that are Escapement's own, numbered from a base far above all others.
                pub const ADDITIONS: &'static [Self] = &[ $( Self::$addition, )* ];
            )?

            const ROWS: &'static [(Self, bool)] = &[ $( (Self::$row, $condition), )* ];

            /// How many numbers this build has.
            pub const COUNT: usize = {
                let mut count = 0;
                let mut row = 0;
                while row < Self::ROWS.len() {
                    count += Self::ROWS[row].1 as usize;
                    row += 1;
                }
                count
            };

            const BY_NUMBER: [Self; Self::COUNT] = {
                let mut table = [Self::ROWS[0].0; Self::COUNT];
                let mut number = 0;
                let mut row = 0;
                while row < Self::ROWS.len() {
                    if Self::ROWS[row].1 {
                        table[number] = Self::ROWS[row].0;
                        number += 1;
                    }
                    row += 1;
                }
                table
            };

            /// The number of this row, or `None` where the build does not have it.
            pub const fn checked_number(self) -> Option<usize> {
                let mut number = 0;
                let mut row = 0;
                while row < Self::ROWS.len() {
                    if Self::ROWS[row].0 as u8 == self as u8 {
                        return if Self::ROWS[row].1 { Some(number) } else { None };
                    }
                    number += Self::ROWS[row].1 as usize;
                    row += 1;
                }
                $(
                    let mut row = 0;
                    while row < Self::ADDITIONS.len() {
                        if Self::ADDITIONS[row] as u8 == self as u8 {
                            return Some($base + row);
                        }
                        row += 1;
                    }
                )?
                None
            }

            /// The number of this row.
            ///
            /// # Panics
            /// When the build does not have it; meant for constants.
            pub const fn number(self) -> usize {
                match self.checked_number() {
                    Some(number) => number,
                    None => panic!("this build of the ABI has no such number"),
                }
            }

            /// The row with a given number.
            pub fn from_number(number: usize) -> Option<Self> {
                $(
                    if number >= $base {
                        return Self::ADDITIONS.get(number - $base).copied();
                    }
                )?
                Self::BY_NUMBER.get(number).copied()
            }
        }
    };
}
pub(crate) use ordered;
