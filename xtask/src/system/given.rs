//! The types of what a description gives each program: the struct `Given` of `userlib::given`.

use std::collections::BTreeMap;
use std::fmt::Write;

use system_description::file::{Argument, Rights};
use system_description::system::{Component, EndpointId, System};

use super::about::about;
use crate::Result;

/// The name of the right to ask the supervisor.
pub(super) const SUPERVISOR: &str = "supervisor";

/// A field: its type, how it is found, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    kind: String,
    find: String,
    what: String,
}

/// The sources of the types, by the names of the programs.
pub(crate) fn of(system: &System) -> Result<BTreeMap<String, String>> {
    let mut sources = BTreeMap::new();
    for program in &system.programs {
        let is_it = |one: &&Component| one.program.as_ref() == Some(program);
        let components: Vec<_> = system.components.iter().filter(is_it).collect();
        sources.insert(program.clone(), source(system, program, &components)?);
    }
    Ok(sources)
}

/// The source for a program and its components.
fn source(system: &System, program: &str, components: &[&Component]) -> Result<String> {
    let all = components.iter().map(|one| fields(system, one, components));
    let all: Vec<_> = all.collect();
    let mut text = format!(
        "/// What the system's description gives `{program}`.\n#[allow(dead_code, reason = \"a program need \
         not use everything\")]\npub struct Given {{\n    /// The monotonic clock.\n    pub clock: ::userlib::time::Clock,\n"
    );
    let mut find = String::new();
    let mut known: Vec<&Field> = Vec::new();
    let owned = components
        .iter()
        .zip(&all)
        .flat_map(|(one, fields)| fields.iter().map(move |field| (&one.name, field)));
    for (owner, field) in owned {
        if let Some(other) = known
            .iter()
            .find(|other| identifier(&other.name) == identifier(&field.name))
        {
            if other.kind != field.kind || other.name != field.name {
                let message = format!(
                    "`{}` and `{}` of `{program}` are different things with the same name; rename one of them",
                    other.name, field.name
                );
                return Err(about(owner, message));
            }
            continue;
        }
        if field.name == "clock" {
            let message =
                format!("`clock` is the monotonic clock of `{program}`; use another name");
            return Err(about(owner, message));
        }
        known.push(field);
        let has_it = |fields: &Vec<Field>| fields.iter().any(|one| one.name == field.name);
        let always = all.iter().all(has_it);
        let name = identifier(&field.name);
        let kind = match always {
            true => field.kind.clone(),
            false => format!("Option<{}>", field.kind),
        };
        writeln!(text, "    /// {}.\n    pub {name}: {kind},", field.what)?;
        let rest = match always {
            true => format!(
                ".unwrap_or_else(|| panic!(\"the parent did not give `{}`\"))",
                field.name
            ),
            false => String::new(),
        };
        writeln!(find, "            {name}: {}{rest},", field.find)?;
    }
    write!(
        text,
        "}}\n\nimpl Given {{\n    fn find(startup: &'static ::userlib::Startup) -> Self {{\n        Self {{\n            \
         clock: ::userlib::time::Clock::from_startup(startup),\n{find}        }}\n    }}\n}}\n"
    )?;
    let served = components.iter().flat_map(|one| &one.serves);
    for endpoint in served.map(|&id| &system[id]) {
        if let Some(protocol) = &endpoint.protocol {
            for (operation, _) in &endpoint.operations {
                let kind = format!("::{protocol}::Operation");
                writeln!(
                    text,
                    "\n/// `{}` has a cost of `{operation}`.\nconst _: {kind} = {kind}::{operation};",
                    endpoint.name
                )?;
            }
        }
    }
    Ok(text)
}

/// A name as one of Rust.
fn identifier(name: &str) -> String {
    const KEYWORDS: &str = " abstract as async await become box break const continue do dyn else enum extern false \
        final fn for gen if impl in let loop macro match mod move mut override priv pub ref return static struct \
        trait true try type typeof unsafe unsized use virtual where while yield ";
    let name = name.replace('-', "_").to_ascii_lowercase();
    match &*name {
        // These cannot be raw identifiers.
        "self" | "super" | "crate" => format!("{name}_"),
        _ if KEYWORDS.contains(&format!(" {name} ")) => format!("r#{name}"),
        _ => name,
    }
}

/// What a component gets; `all` are those of its program.
fn fields(system: &System, one: &Component, all: &[&Component]) -> Vec<Field> {
    let field = |name: &str, kind: &str, what: String| Field {
        name: name.to_string(),
        kind: kind.to_string(),
        find: format!("{kind}::find(startup, \"{name}\")"),
        what,
    };
    let mut fields = Vec::new();
    for &id in &one.serves {
        let name = &system[id].name;
        let what = format!("The endpoint `{name}`, at which it serves");
        let kind = of_protocol(system, id, "Server");
        let kind = kind.unwrap_or_else(|| "::userlib::given::Server".to_string());
        fields.push(field(name, &kind, what));
    }
    for call in &one.calls {
        let what = format!(
            "The endpoint `{}`, which it calls",
            system.endpoint_name(call.to)
        );
        let kind = of_protocol(system, call.to, "Client");
        let kind = kind.unwrap_or_else(|| match calls_passive(system, all, &call.name) {
            true => "::userlib::given::Client".to_string(),
            false => "::userlib::given::Sender".to_string(),
        });
        fields.push(field(&call.name, &kind, what));
    }
    if one.asks_supervisor {
        let what = "The supervisor, which it may ask".to_string();
        fields.push(field(
            SUPERVISOR,
            "::userlib::supervision::requests::Client",
            what,
        ));
    }
    if !one.waits.is_empty() || !one.interrupts.is_empty() {
        fields.push(Field {
            name: "signals".to_string(),
            kind: "::userlib::given::Signals".to_string(),
            find: "::userlib::given::Signals::find(startup)".to_string(),
            what: "The signals and interrupts for which it waits".to_string(),
        });
    }
    for &id in &one.waits {
        let name = &system[id].name;
        let what = format!("The signal `{name}`, for which it waits");
        fields.push(field(name, "::userlib::given::Bit", what));
    }
    for (name, id) in &one.signals {
        let signal = &system[*id];
        let what = format!(
            "The signal `{}` of `{}`, which it sends",
            signal.name, system[signal.receiver].name
        );
        fields.push(field(name, "::userlib::given::Signal", what));
    }
    for map in &one.maps {
        let region = &system[map.region].name;
        fields.push(match map.rights {
            Rights::ReadWrite if !system[map.region].cacheable => field(
                &map.name,
                "::userlib::given::Registers",
                format!("The memory `{region}`, which it reads and writes without caches"),
            ),
            Rights::ReadWrite => Field {
                name: map.name.clone(),
                kind: "&'static [::core::sync::atomic::AtomicUsize]".to_string(),
                find: format!(
                    "startup.find_memory(\"{0}\").map(|_| startup.shared(\"{0}\"))",
                    map.name
                ),
                what: format!("The memory `{region}`, which it reads and writes"),
            },
            Rights::Read | Rights::ReadExecute => field(
                &map.name,
                "::userlib::given::ReadOnly",
                format!("The memory `{region}`, which it reads"),
            ),
        });
    }
    for device in &one.devices {
        let (kind, what) = match (&device.resources.registers[..], &device.resources.ports[..]) {
            ([_, ..], _) => ("::userlib::given::Registers", "registers"),
            (_, [_, ..]) => ("::userlib::given::Ports", "I/O ports"),
            _ => {
                fields.push(Field {
                    name: device.name.clone(),
                    kind: "::userlib::given::CoreRegisters".to_string(),
                    find: format!(
                        "::userlib::given::CoreRegisters::find(startup, \"{}-interrupt\")",
                        device.name
                    ),
                    what: format!("The registers of the core that are `{}`", device.device),
                });
                continue;
            }
        };
        let what = format!("The {what} of `{}`", device.device);
        fields.push(field(&device.name, kind, what));
    }
    for interrupt in &one.interrupts {
        let what = format!("The interrupt of `{}`", interrupt.device);
        fields.push(field(&interrupt.name, "::userlib::given::Interrupt", what));
    }
    for (name, value) in &one.arguments {
        let (kind, find) = match value {
            Argument::Flag(_) => (
                "bool",
                format!("startup.find_number(\"{name}\").map(|flag| flag != 0)"),
            ),
            Argument::Text(_) => ("&'static str", format!("startup.find_text(\"{name}\")")),
            Argument::Number(_) if is_signed(all, name) => (
                "isize",
                format!("startup.find_number(\"{name}\").map(|number| number as isize)"),
            ),
            Argument::Number(_) => ("usize", format!("startup.find_number(\"{name}\")")),
        };
        fields.push(Field {
            name: name.clone(),
            kind: kind.to_string(),
            find,
            what: format!("The argument `{name}`"),
        });
    }
    for &id in &one.watches {
        let name = &system[id].name;
        fields.push(Field {
            name: name.clone(),
            kind: "::userlib::startup::Watched".to_string(),
            find: format!("startup.find_watched(\"{name}\")"),
            what: format!("The time of `{name}`"),
        });
    }
    fields
}

/// The type of a side of an endpoint's protocol, if it has one.
fn of_protocol(system: &System, id: EndpointId, side: &str) -> Option<String> {
    let protocol = system[id].protocol.as_ref()?;
    Some(format!("::{protocol}::{side}"))
}

/// Whether one of a program's components calls a passive server by this name, which can only be called.
fn calls_passive(system: &System, components: &[&Component], name: &str) -> bool {
    let calls = components.iter().flat_map(|one| &one.calls);
    let mut servers = calls
        .filter(|call| call.name == name)
        .map(|call| &system[system[call.to].server]);
    servers.any(|server| server.time.is_passive())
}

/// Whether a number is negative for one of a program's components.
fn is_signed(components: &[&Component], name: &str) -> bool {
    let arguments = components.iter().flat_map(|one| &one.arguments);
    let mut numbers = arguments.filter(|(other, _)| other == name);
    numbers.any(|(_, value)| matches!(value, Argument::Number(number) if *number < 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::table::tests::described;

    const TWO: &str = r#"
        [component.server]
        program = "server"
        passive = true
        priority = 9
        serves = ["requests"]
        memory.settings = "read-write"
        [component.client]
        program = "client"
        slice = "5 ms"
        priority = 8
        calls = ["server", "log"]
        memory = { report = "read-write", settings = "read" }
        arguments = { loud = true, rate = 7 }
        devices = ["serial"]
        [component.log]
        program = "log"
        slice = "5 ms"
        priority = 8
        serves = ["lines"]
        [memory]
        report.size = "4 KiB"
        settings.size = "4 KiB"
    "#;

    /// With another component of the client's program, which gets less.
    fn three() -> String {
        let other = "[component.other]\nprogram = \"client\"\nslice = \"5 ms\"\npriority = 7\ncalls = [\"server\"]\n";
        TWO.replace("        [memory]", &format!("{other}\n[memory]"))
    }

    #[test]
    fn the_types_are_those_whose_use_the_userlib_tests() {
        let sources = of(&described(TWO)).unwrap();
        let example = include_str!("../../../userlib/src/given/example.rs");
        assert_eq!(sources["client"], example, "{}", sources["client"]);
        assert!(sources["server"].contains("pub requests: ::userlib::given::Server,"));
        assert!(!sources["server"].contains("report"));
    }

    #[test]
    fn both_sides_of_a_protocol_have_its_types() {
        let text = TWO.replace(
            "serves = [\"requests\"]",
            "serves.requests.protocol = \"sums::addition\"",
        );
        let sources = of(&described(&text)).unwrap();
        assert!(sources["server"].contains("pub requests: ::sums::addition::Server,"));
        let costs = text.replace(
            "requests.protocol = \"sums::addition\"",
            "requests = { protocol = \"sums::addition\", cost = { add = \"1 ms\" } }",
        );
        let server = &of(&described(&costs)).unwrap()["server"];
        let check = "const _: ::sums::addition::Operation = ::sums::addition::Operation::add;";
        assert!(server.contains(check), "{server}");
        let client = &sources["client"];
        assert!(client.contains("pub server: ::sums::addition::Client,"));
        assert!(client.contains("server: ::sums::addition::Client::find(startup, \"server\")"));
        // Another server under the same name has another protocol.
        let other = text.replace(
            "[memory]",
            "[component.other]\nprogram = \"client\"\nslice = \"5 ms\"\npriority = 7\n\
            calls = { server = \"log\" }\n[memory]",
        );
        assert_eq!(
            of(&described(&other)).unwrap_err().to_string(),
            "`server` and `server` of `client` are different things with the same name; rename one of them"
        );
    }

    #[test]
    fn the_supervisor_is_asked_by_its_protocol() {
        let text = TWO.replace(
            "loud = true, rate = 7 }",
            "rate = 7 }\nasks-supervisor = true",
        );
        let sources = of(&described(&text)).unwrap();
        assert!(
            sources["client"].contains("pub supervisor: ::userlib::supervision::requests::Client,")
        );
        assert!(!sources["server"].contains("supervision"));
    }

    #[test]
    fn memory_without_caches_is_accessed_as_registers() {
        let text = TWO.replace(
            "report.size = \"4 KiB\"",
            "report = { size = \"4 KiB\", cacheable = false }",
        );
        let sources = of(&described(&text)).unwrap();
        assert!(sources["client"].contains("pub report: ::userlib::given::Registers,"));
    }

    #[test]
    fn a_device_without_an_address_consists_of_registers_of_the_core() {
        let mut system = described(TWO);
        for device in system
            .components
            .iter_mut()
            .flat_map(|one| &mut one.devices)
        {
            device.resources.registers.clear();
        }
        let client = &of(&system).unwrap()["client"];
        assert!(client.contains("pub serial: ::userlib::given::CoreRegisters,"));
        let found = "serial: ::userlib::given::CoreRegisters::find(startup, \"serial-interrupt\")";
        assert!(client.contains(found));
    }

    #[test]
    fn what_only_some_components_of_a_program_get_is_an_option() {
        let sources = of(&described(&three())).unwrap();
        assert!(sources["client"].contains("pub report: Option<&'static ["));
        assert!(sources["client"].contains("pub server: ::userlib::given::Client,"));
    }

    #[test]
    fn only_calls_are_possible_if_one_of_the_servers_is_passive() {
        let sources = of(&described(&three())).unwrap();
        assert!(sources["client"].contains("pub log: Option<::userlib::given::Sender>,"));
        let text = three().replace(
            "priority = 7\ncalls = [\"server\"]",
            "priority = 7\ncalls = { server = \"log\", log = \"server\" }",
        );
        let sources = of(&described(&text)).unwrap();
        for name in ["server", "log"] {
            let field = format!("pub {name}: ::userlib::given::Client,");
            assert!(sources["client"].contains(&field), "{name}");
        }
    }

    #[test]
    fn a_number_that_is_negative_somewhere_has_a_sign_everywhere() {
        let text = three()
            .replace("rate = 7", "rate = -7, says = \"no\"")
            .replace("priority = 7\n", "priority = 7\narguments.rate = 7\n");
        let sources = of(&described(&text)).unwrap();
        assert!(sources["client"].contains("pub rate: isize,"));
        assert!(sources["client"].contains("pub says: Option<&'static str>,"));
    }

    #[test]
    fn names_are_those_of_fields() {
        assert_eq!(identifier("client-a"), "client_a");
        assert_eq!(identifier("type"), "r#type");
        assert_eq!(identifier("self"), "self_");
        let text = three().replace("arguments = { loud = true", "arguments = { clock = true");
        let error = of(&described(&text)).unwrap_err().to_string();
        assert_eq!(
            error,
            "`clock` is the monotonic clock of `client`; use another name"
        );
        let text = three().replace("arguments = { loud = true", "arguments = { RATE = true");
        let error = of(&described(&text)).unwrap_err().to_string();
        assert_eq!(
            error,
            "`RATE` and `rate` of `client` are different things with the same name; rename one of them"
        );
    }
}
