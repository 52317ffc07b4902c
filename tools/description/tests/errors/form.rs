//! Texts with unreadable keys, values and names.

use super::{Case, Kind};

pub(super) const CASES: &[Case] = &[
    (
        "a = [",
        &[(
            Kind::Syntax,
            "s:1:6: error: this is no TOML: unclosed array, expected `]`",
        )],
    ),
    (
        "title = \"a\"\nmemroy.a.size = \"4 KiB\"",
        &[(
            Kind::UnknownKey,
            "s:2:1: error: there is no key `memroy` here; did you mean `memory`?",
        )],
    ),
    (
        "platform.small.platform.large.title = \"a\"",
        &[(
            Kind::UnknownKey,
            "s:1:25: error: a variant has no variants; write the platform's keys into its own table",
        )],
    ),
    (
        "[[schedule]]\ndomain = \"a\"",
        &[(
            Kind::MissingKey,
            "s:1:1: error: the key `duration` is missing here; add `duration = ...`",
        )],
    ),
    (
        "[component.a]\nbudget = \"1 ms\"",
        &[(
            Kind::MissingKey,
            r#"s:2:10: error: component `a` has a budget and no period; add `period = "..."`"#,
        )],
    ),
    (
        "[component.a]\nprogram = \"a\"\nslice = \"1 ms\"",
        &[(
            Kind::MissingKey,
            "s:1:12: error: component `a` has no priority; add `priority = N`, from 0 to 255, which is the highest",
        )],
    ),
    (
        "schedule = [{ domain = \"d\", duration = \"1 ms\" }]\n[component.a]\nslice = \"1 ms\"",
        &[(
            Kind::MissingKey,
            "s:2:12: error: component `a` is in no domain; add `domain = ...`, one of `d`",
        )],
    ),
    (
        "[component.a]\nslice = \"1 hour\"",
        &[(
            Kind::BadValue,
            "s:2:9: error: there is no unit `hour`; the units are ns, us, ms, s, min",
        )],
    ),
    (
        "[component.a]\nslice = 1.5",
        &[(
            Kind::BadValue,
            "s:2:9: error: 1.5 is no whole number; write a whole number, or a text with a unit",
        )],
    ),
    (
        "[component.a]\nslice = 2020-01-01",
        &[(
            Kind::BadValue,
            "s:2:9: error: no key has a date as its value; write a text in quotes, or a number",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\npriority = 99999999999999999999",
        &[(
            Kind::BadValue,
            "s:3:12: error: 99999999999999999999 is too large; write a smaller number",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\non-fault = \"restrat\"",
        &[(
            Kind::BadValue,
            "s:3:12: error: `restrat` is none of the values of this key; did you mean `restart`?",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\non-timeout = {}",
        &[(
            Kind::BadValue,
            "s:3:14: error: this table has no or several keys; write one of them",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\nserves = 3",
        &[(
            Kind::BadValue,
            "s:3:10: error: 3 is not what belongs here; write a list of names or a table",
        )],
    ),
    (
        "[component.1a]\nslice = \"1 ms\"",
        &[(
            Kind::BadName,
            "s:1:12: error: `1a` is no name of a component; begin with a letter, and use letters, digits, `-` and `_`, 32 at the most",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ninstances = 2\n[component.a-1]\nslice = \"1 ms\"",
        &[(
            Kind::Duplicate,
            "s:4:12: error: there is a component `a-1` already; rename one of them",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\nserves = [\"e\", \"e\"]",
        &[(
            Kind::Duplicate,
            r#"s:3:16: error: the name `e` is used twice; write a table, `NAME = "..."`, with names of your own"#,
        )],
    ),
    (
        r#"[component.a]
        slice = "1 ms"
        calls.b = { to = "b", badge = 7 }
        [component.c]
        slice = "1 ms"
        calls.b = { to = "b.e", badge = 7 }
        [component.b]
        slice = "1 ms"
        serves = ["e"]"#,
        &[(
            Kind::Duplicate,
            "s:6:41: error: the badge 7 is used twice at `b.e`; write another badge, or none: then a free one is chosen",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\n[platform.small]\ncomponent.a.platforms = [\"smal\"]",
        &[(
            Kind::UnknownName,
            "s:4:26: error: there is no platform `smal`; did you mean `small`?",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\npriority = 1\n\
         [platform.small]\nplatforms = [\"large\"]\nroot = \"r\"\ntest.prints = [\"x\"]",
        &[
            (
                Kind::UnknownKey,
                "s:4:11: error: `test` is the same on all platforms; write it outside of the platform's table",
            ),
            (
                Kind::UnknownKey,
                "s:5:13: error: `platforms` is the same on all platforms; write it outside of the platform's table",
            ),
            (
                Kind::UnknownKey,
                "s:6:8: error: `root` is the same on all platforms; write it outside of the platform's table",
            ),
        ],
    ),
    (
        "platforms = [\"large\", \"smal\"]",
        &[(
            Kind::UnknownName,
            "s:1:23: error: there is no platform `smal`; did you mean `small`?",
        )],
    ),
    (
        "[component.alpha]\nslice = \"1 ms\"\ncalls.b = \"alhpa\"",
        &[(
            Kind::UnknownName,
            "s:3:11: error: there is no component `alhpa`; did you mean `alpha`?",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ncalls = [\"b.rqeuests\"]\n\
         [component.b]\nslice = \"1 ms\"\nserves = [\"requests\"]",
        &[(
            Kind::UnknownName,
            "s:3:10: error: there is no endpoint `rqeuests` of `b`; did you mean `requests`?",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ncalls = [\"b\"]\n[component.b]\nslice = \"1 ms\"",
        &[(
            Kind::UnknownName,
            r#"s:3:10: error: component `b` serves no calls; add `serves = ["NAME"]` to it"#,
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\nsignals = [\"b\"]\n[component.b]\nslice = \"1 ms\"",
        &[(
            Kind::UnknownName,
            r#"s:3:12: error: component `b` waits for no signals; add `waits = ["NAME"]` to it"#,
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\nsignals = [\"b.tock\"]\n\
         [component.b]\nslice = \"1 ms\"\nwaits = [\"tick\"]",
        &[(
            Kind::UnknownName,
            "s:3:12: error: there is no signal `tock` of `b`; did you mean `tick`?",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\nmemory.page = \"read\"",
        &[(
            Kind::UnknownName,
            "s:3:8: error: there is no shared memory `page`; there is none",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ndevices = [\"leds\"]",
        &[(
            Kind::UnknownName,
            "s:3:12: error: on small: there is no device `leds`; there are `old-serial`, `serial`, `timer`",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ndomain = \"d\"",
        &[(
            Kind::UnknownName,
            "s:3:10: error: domain `d` has no turn, since there is no schedule; add `[[schedule]]` with `domain` and `duration`",
        )],
    ),
    (
        "schedule = [{ domain = \"left\", duration = \"1 ms\" }]\nsupervisor.domain = \"right\"\n[component.a]\n\
         program = \"a\"\nbudget = \"20 us\"\nperiod = \"1 s\"\npriority = 1\ndomain = \"left\"",
        &[(
            Kind::UnknownName,
            "s:2:21: error: there is no domain `right`; there are `left`",
        )],
    ),
    (
        "schedule = [{ domain = \"left\", duration = \"1 ms\" }]\n[component.a]\nslice = \"1 ms\"\ndomain = \"lefd\"",
        &[(
            Kind::UnknownName,
            "s:4:10: error: there is no domain `lefd`; did you mean `left`?",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ninterrupts = [\"old-serial\"]",
        &[(
            Kind::UnknownName,
            "s:3:15: error: device `old-serial` has no interrupt; remove it, or ask for the device in `devices`",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ncalls = [\"b\"]\n\
         [component.b]\nslice = \"1 ms\"\nserves = [\"e\"]\ninstances = 2",
        &[(
            Kind::Ambiguous,
            "s:3:10: error: `b` has 2 instances; name one of them, such as `b-0`",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\ncalls = [\"b\"]\n\
         [component.b]\nslice = \"1 ms\"\nserves = [\"e\", \"f\"]",
        &[(
            Kind::Ambiguous,
            "s:3:10: error: component `b` serves several endpoints; name one of `b.e`, `b.f`",
        )],
    ),
    (
        "[component.a]\nslice = \"1 ms\"\nsignals.b = \"b\"\n\
         [component.b]\nslice = \"1 ms\"\nwaits = [\"e\", \"f\"]",
        &[(
            Kind::Ambiguous,
            "s:3:13: error: component `b` waits for several signals; name one of `b.e`, `b.f`",
        )],
    ),
];
