//! Mutations of a line of assembly: each makes a condition always hold.
//!
//! The three dialects do not overlap, so one parser reads all of them. Fast paths fall back to the slow path
//! by a branch to the label 9; other local branches choose between two paths. Comparisons that are chained by
//! conditional execution are conditions of their own.

/// The label of the fallback to the slow path.
const SLOW_PATH: &str = "9";
/// Condition codes of Arm.
const CONDITIONS: [&str; 10] = ["eq", "ne", "hi", "lo", "hs", "ls", "mi", "pl", "cs", "cc"];

/// Replacements of a mask that is compared with a value: without one of its fields, in both.
pub(super) const LOWEST_FIELD: &str = "all but the lowest field";
pub(super) const HIGHEST_FIELD: &str = "all but the highest field";

/// An instruction: its mnemonic, and its operands.
#[derive(Clone, Copy)]
struct Instruction<'a> {
    text: &'a str,
    name: &'a str,
    operands: &'a str,
}

/// The mutants of a text: line, old text, and new text.
pub(super) fn changes(text: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    let lines: Vec<_> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some(instruction) = read(line) else {
            continue;
        };
        let mut rest = lines[at + 1..].iter().filter_map(|line| read(line));
        for after in instruction.changes(&mut rest) {
            found.push((at, instruction.text.to_string(), after));
        }
    }
    found
}

/// The instruction before a line.
pub(super) fn previous(text: &str, line: usize) -> Option<&str> {
    let lines: Vec<_> = text.lines().take(line).collect();
    lines
        .into_iter()
        .rev()
        .find_map(|line| Some(read(line)?.text))
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

/// The unconditional mnemonic of a conditional store.
fn stored_if(name: &str) -> Option<&'static str> {
    ["strb", "str"].into_iter().find(|store| {
        name.strip_prefix(store)
            .is_some_and(|condition| CONDITIONS.contains(&condition))
    })
}

impl Instruction<'_> {
    /// Its possible replacements. `rest` are the instructions after it.
    fn changes<'b>(&self, rest: &mut impl Iterator<Item = Instruction<'b>>) -> Vec<String> {
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
        let Some(follower) = rest.next() else {
            return Vec::new();
        };
        let is_decisive = |one: &Instruction<'_>| is_chained(one) || branch(one).is_some();
        let next = match is_decisive(&follower) {
            true => Some(follower),
            false => rest.find(is_decisive),
        };
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
            // Executed on a condition.
            (name, _) if stored_if(name).is_some() => vec![
                String::new(),
                format!("{} {}", stored_if(name).unwrap_or_default(), self.operands),
            ],
            ("or", [to, second]) if second.contains('[') => vec![format!("test {to}, {to}")],
            ("mov" | "movzx", [_, source])
                if source.contains('[')
                    && follower.name == "or"
                    && follower.operands.contains('[') =>
            {
                vec!["xor eax, eax".to_string()]
            }
            // A mask of several fields.
            ("and", [to, _]) if follower.name == "cmp" && follower.operands.starts_with(to) => {
                [LOWEST_FIELD, HIGHEST_FIELD].map(str::to_string).to_vec()
            }
            _ => Vec::new(),
        }
    }

    fn other_branches(&self, always: &str, label: &str) -> Vec<String> {
        let is_local = |label: &str| label.starts_with(|digit: char| digit.is_ascii_digit());
        match label.strip_suffix('b').or(label.strip_suffix('f')) {
            Some(SLOW_PATH) => vec![String::new()],
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

#[cfg(test)]
mod tests {
    use super::{HIGHEST_FIELD, LOWEST_FIELD, changes};

    fn of(text: &str) -> Vec<(usize, String)> {
        changes(text)
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
    fn a_branch_to_the_slow_path_is_left_out() {
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
        expect(
            "    strhs   r3, [r8]\n    ret\n",
            &[(0, ""), (0, "str r3, [r8]")],
        );
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
            "    mov rax, [rbx]\n    or rax, [rbx + 8]\n    jnz 9b\n",
            &[(0, "xor eax, eax"), (1, "test rax, rax"), (2, "")],
        );
        expect(
            "    and r12d, {MASK}\n    cmp r12d, {VALUE}\n    jne 9b\n",
            &[(0, LOWEST_FIELD), (0, HIGHEST_FIELD), (2, "")],
        );
    }
}
