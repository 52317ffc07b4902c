//! Mutations of a line of assembly: each makes a condition always hold.
//!
//! The three dialects do not overlap, so one parser reads all of them. Fast paths fall back to the slow path
//! by a branch to the label 9; other local branches choose between two paths. Comparisons that are chained by
//! conditional execution are conditions of their own.

/// The label of the fallback to the slow path.
const DECLINE: &str = "9";
/// Condition codes of Arm.
const CONDITIONS: [&str; 10] = ["eq", "ne", "hi", "lo", "hs", "ls", "mi", "pl", "cs", "cc"];

/// An instruction: its mnemonic, and its operands.
#[derive(Clone, Copy)]
struct Instruction<'a> {
    text: &'a str,
    name: &'a str,
    operands: &'a str,
}

/// The mutants of a text: line, old text, and new text. With `several`, those of blocks for multicore
/// kernels, otherwise all others for single-core kernels.
pub(super) fn changes(text: &str, several: bool) -> Vec<(usize, String, String)> {
    let mut blocks = Blocks::default();
    let mut found = Vec::new();
    let lines: Vec<_> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if blocks.reads(line) || !blocks.are_for(several) {
            continue;
        }
        let Some(instruction) = read(line) else {
            continue;
        };
        let next = lines[at + 1..]
            .iter()
            .filter_map(|line| read(line))
            .find(|next| is_chained(next) || branch(next).is_some());
        for after in instruction.changes(next) {
            found.push((at, instruction.text.to_string(), after));
        }
    }
    found
}

/// The instruction in a line, without label and comment.
fn read(line: &str) -> Option<Instruction<'_>> {
    let line = line.split("//").next().unwrap_or_default();
    let line = line.split('@').next().unwrap_or_default().trim();
    let line = match line.split_once(':') {
        Some((label, rest)) if label.parse::<u8>().is_ok() => rest.trim(),
        _ => line,
    };
    let first = line.chars().next()?;
    if !first.is_ascii_lowercase() {
        return None;
    }
    let (name, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some(Instruction {
        text: line,
        name,
        operands: operands.trim(),
    })
}

/// The unconditional mnemonic and the label of a conditional branch.
fn branch<'a>(instruction: &Instruction<'a>) -> Option<(&'static str, &'a str)> {
    let name = instruction.name;
    let label = instruction.operands.rsplit(',').next()?.trim();
    let is = |prefix| {
        name.strip_prefix(prefix)
            .is_some_and(|condition| CONDITIONS.contains(&condition))
    };
    let always = match name {
        "cbz" | "cbnz" | "tbz" | "tbnz" => "b",
        _ if is("b.") || is("b") => "b",
        _ if is("bl") => "bl",
        _ if is("bx") => "bx",
        _ if name.starts_with('j') && name != "jmp" => "jmp",
        _ => return None,
    };
    Some((always, label))
}

/// Whether it is a comparison that is executed only if the one before has succeeded.
fn is_chained(instruction: &Instruction<'_>) -> bool {
    let name = instruction.name;
    name == "ccmp"
        || ["teq", "tst", "cmp", "movs"].iter().any(|compare| {
            name.strip_prefix(compare)
                .is_some_and(|condition| CONDITIONS.contains(&condition))
        })
}

impl Instruction<'_> {
    /// Its possible replacements. `next` is the chained comparison or conditional branch after it.
    fn changes(&self, next: Option<Instruction<'_>>) -> Vec<String> {
        if let Some((always, label)) = branch(self) {
            return self.other_branches(always, label);
        }
        if is_chained(self) {
            let after = match self.name {
                // Here C is set if the comparison before has succeeded, and Z must not be set.
                "movscs" => "cmpcs sp, #0",
                _ => "",
            };
            return vec![after.to_string()];
        }
        let operands: Vec<_> = self.operands.split(',').map(str::trim).collect();
        match (self.name, operands.as_slice()) {
            // The first comparison of a chain.
            ("cmp" | "teq" | "tst" | "rsbs", _) => match next {
                Some(next) if next.name == "ccmp" => vec!["cmp x0, x0".to_string()],
                Some(next) if next.name == "tstne" => vec!["cmp sp, #0".to_string()],
                Some(next) if is_chained(&next) => vec!["cmp r0, r0".to_string()],
                _ => Vec::new(),
            },
            // Two words that must both be zero.
            ("orr" | "orrs", [to, first, second]) if !second.contains(['#', '{']) => {
                let mov = self.name.replace("orr", "mov");
                vec![
                    format!("{mov} {to}, {first}"),
                    format!("{mov} {to}, {second}"),
                ]
            }
            ("or", [to, second]) if second.contains('[') => {
                vec![
                    format!("test {to}, {to}"),
                    format!("mov {to}, {second}; test {to}, {to}"),
                ]
            }
            _ => Vec::new(),
        }
    }

    fn other_branches(&self, always: &str, label: &str) -> Vec<String> {
        let is_local = |label: &str| label.starts_with(|digit: char| digit.is_ascii_digit());
        match label.strip_suffix('b').or(label.strip_suffix('f')) {
            Some(DECLINE) => vec![String::new()],
            // A branch from the entry to one of the paths.
            Some("4" | "6") => Vec::new(),
            _ if always == "bl" => vec![String::new()],
            _ if is_local(label) || always == "bx" => {
                vec![String::new(), format!("{always} {label}")]
            }
            _ => Vec::new(),
        }
    }
}

/// The conditional blocks around a line.
#[derive(Default)]
struct Blocks(Vec<Block>);

#[derive(Clone, Copy, PartialEq)]
enum Block {
    /// For multicore kernels.
    Several,
    /// For single-core kernels.
    One,
    /// For kernels that are not tested here: those with several domains, and those without self-checks.
    Never,
    Always,
}

impl Blocks {
    /// Reads the first or last line of a block; returns whether the line is one.
    fn reads(&mut self, line: &str) -> bool {
        let line = line.trim();
        if let Some(condition) = line.strip_prefix(".if") {
            self.0.push(match condition.trim() {
                "{CORES} > 1" => Block::Several,
                "{CHECKED}" => Block::Always,
                _ => Block::Never,
            });
        } else if line == ".else" {
            if let Some(block) = self.0.last_mut() {
                *block = match block {
                    Block::Several => Block::One,
                    Block::Always => Block::Never,
                    _ => Block::Always,
                };
            }
        } else if line == ".endif" {
            self.0.pop();
        } else {
            return false;
        }
        true
    }

    fn are_for(&self, several: bool) -> bool {
        let has = |block| self.0.contains(&block);
        !has(Block::Never)
            && if several {
                has(Block::Several)
            } else {
                !has(Block::Several)
            }
    }
}

#[cfg(test)]
mod tests {
    use super::changes;

    fn of(text: &str) -> Vec<(usize, String)> {
        changes(text, false)
            .into_iter()
            .map(|(line, _, after)| (line, after))
            .collect()
    }

    fn expect(text: &str, expected: &[(usize, &str)]) {
        let expected: Vec<_> = (expected.iter())
            .map(|&(line, after)| (line, after.to_string()))
            .collect();
        assert_eq!(of(text), expected, "{text}");
    }

    #[test]
    fn what_declines_does_not() {
        expect("    cmp eax, 3\n    ja 9b\n", &[(1, "")]);
        expect("8:  tbz     w10, #{WRITE_BIT}, 9b // why\n", &[(0, "")]);
        expect("    bhs     9b\n", &[(0, "")]);
        expect("    jmp 9b\n    je 6f\n    b.ne    trap_exception\n", &[]);
    }

    #[test]
    fn other_branches_go_one_way() {
        expect("    jz 2f\n", &[(0, ""), (0, "jmp 2f")]);
        expect("    cbz     x13, 3f\n", &[(0, ""), (0, "b 3f")]);
        expect("    bxhi    lr\n", &[(0, ""), (0, "bx lr")]);
        expect("    blne    8b\n", &[(0, "")]);
    }

    #[test]
    fn each_of_a_chain_holds() {
        expect(
            "    cmp     x12, #5\n    ccmp    x13, #0, #0, eq\n    b.ne    9b\n",
            &[(0, "cmp x0, x0"), (1, ""), (2, "")],
        );
        expect(
            "    tst     r11, #1\n    tstne   r11, #2\n    beq     9b\n",
            &[(0, "cmp sp, #0"), (1, ""), (2, "")],
        );
        expect(
            "    orr     x12, x12, x13\n    cbnz    x12, 9b\n",
            &[(0, "mov x12, x12"), (0, "mov x12, x13"), (1, "")],
        );
        expect(
            "    or rax, [rbx + 8]\n    jnz 9b\n",
            &[
                (0, "test rax, rax"),
                (0, "mov rax, [rbx + 8]; test rax, rax"),
                (1, ""),
            ],
        );
    }

    #[test]
    fn blocks_are_for_one_core_or_several() {
        let text = ".if {CORES} > 1\n jne 9b\n.else\n ja 9b\n.endif\n.if {X} > 1\n jb 9b\n.endif\n";
        expect(text, &[(3, "")]);
        assert_eq!(changes(text, true)[0].0, 1);
        assert_eq!(changes(text, true).len(), 1);
    }
}
