//! The description of a trace, in the Trace Stream Description Language (section 7).

use std::fmt::Write;

use trace_format::Kind;

use crate::Trace;
use crate::fields::{Meaning, fields};

/// What all traces have in common. Integers are aligned on bytes, so that there is no padding (section 4.1.2).
const TYPES: &str = "/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
typealias integer { size = 32; align = 8; signed = false; base = 16; } := object_t;

trace {
\tmajor = 1;
\tminor = 8;
\tbyte_order = le;
\tpacket.header := struct {
\t\tuint32_t magic;
\t\tuint32_t stream_id;
\t};
};
";

/// All cores have one stream class, as they have the same kinds of events. The time of a packet and of an event is that
/// of the clock (section 8).
const STREAM: &str = "
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := timestamp_t;

stream {
\tid = 0;
\tpacket.context := struct {
\t\ttimestamp_t timestamp_begin;
\t\ttimestamp_t timestamp_end;
\t\tuint64_t content_size;
\t\tuint64_t packet_size;
\t\tuint64_t events_discarded;
\t\tuint32_t cpu_id;
\t};
\tevent.header := struct {
\t\tuint8_t id;
\t\ttimestamp_t timestamp;
\t};
\tevent.context := struct {
\t\tuint64_t sequence;
\t};
};
";

/// The description of a trace.
pub(super) fn metadata(trace: &Trace) -> String {
    let (platform, frequency) = (literal(&trace.platform), trace.frequency);
    let mut text = format!(
        "{TYPES}
env {{
\ttracer_name = \"escapement\";
\tplatform = \"{platform}\";
}};

clock {{
\tname = \"monotonic\";
\tdescription = \"The kernel's clock, since boot\";
\tfreq = {frequency};
}};
{STREAM}"
    );
    event_class(&mut text, None);
    for &kind in Kind::ALL {
        event_class(&mut text, Some(kind));
    }
    text
}

/// Describes the events of a kind. No kind has the number 0, which stands for unknown ones.
fn event_class(text: &mut String, kind: Option<Kind>) {
    let (id, name) = kind.map_or((0, "Unknown"), |kind| (kind.number(), kind.name()));
    let _ = writeln!(
        text,
        "\nevent {{\n\tname = \"{name}\";\n\tid = {id};\n\tstream_id = 0;\n\tfields := struct {{"
    );
    for (name, _, meaning) in fields(kind) {
        let kind_of_value = match meaning {
            Meaning::Number | Meaning::Ticks => "uint64_t".to_string(),
            Meaning::Signed => "int64_t".to_string(),
            Meaning::Object | Meaning::Thread | Meaning::Context => "object_t".to_string(),
            Meaning::Code(code) => {
                let values = code.values();
                let values = values
                    .iter()
                    .map(|(value, name)| format!("{name} = {value}"));
                let values: Vec<_> = values.collect();
                format!("enum : uint64_t {{ {} }}", values.join(", "))
            }
            Meaning::Name | Meaning::Text => "string".to_string(),
        };
        let _ = writeln!(text, "\t\t{kind_of_value} {name};");
        if matches!(meaning, Meaning::Thread | Meaning::Context) {
            let _ = writeln!(text, "\t\tstring {name}_name;");
        }
    }
    text.push_str("\t};\n};\n");
}

/// The inside of a string literal (section C.1.6). Control characters become spaces.
fn literal(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace(char::is_control, " ")
}
