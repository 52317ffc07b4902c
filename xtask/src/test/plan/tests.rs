//! What is planned for each scope.

use clap::Parser;

use super::examples::TRACED;
use super::fuzzer::CALLS_DIVISOR;
use super::*;
use crate::cli::{AbiOption, Cli, Command, Keep, Kernel};
use crate::test::filter::Filter;
use crate::{project, temporary};

#[test]
fn a_short_run_checks_traces_of_the_demo_on_three_boards() {
    let workspace = Workspace::find().unwrap();
    let Command::Test(arguments) = Cli::parse_from(["cargo xtask", "test"]).command else {
        panic!("not `test`")
    };
    for (name, cores) in [("pc99", 1), ("sabre", 1), ("hikey", 2)] {
        let platform = Platform::load(&workspace, name).unwrap();
        let scope = Scope::of(&platform, true);
        let runs = runs(&workspace, &platform, &arguments, None, scope).unwrap();
        let is_demo = |run: &&Run<'_>| run.system.name == DEMO && !run.is_stress;
        let traced = runs.iter().filter(is_demo).filter(|run| run.is_traced);
        let counts: Vec<_> = traced.map(|run| run.cores.count).collect();
        assert_eq!(counts, [cores], "{name}");
    }
}

#[test]
fn an_example_with_a_timer_has_the_option_that_it_needs() {
    let workspace = Workspace::find().unwrap();
    let line = ["cargo xtask", "test", "--filter", "system::timers"];
    let Command::Test(arguments) = Cli::parse_from(line).command else {
        panic!("not `test`")
    };
    for (name, abi) in [("pc99", &[][..]), ("hikey", &[AbiOption::UserTimer][..])] {
        let platform = Platform::load(&workspace, name).unwrap();
        let runs = runs(&workspace, &platform, &arguments, None, Scope::Portable).unwrap();
        let all: Vec<_> = runs
            .iter()
            .map(|run| (&*run.system.name, &*run.abi))
            .collect();
        assert_eq!(all[0], ("timers", abi), "{name}");
        // Without the option, another core may have the timer.
        assert_eq!(all.get(1).is_some(), abi.is_empty(), "{name}");
    }
}

/// The systems that a filter selects on a platform, each with the filter of its run.
fn selected(filter: &str, name: &str) -> Vec<(String, String)> {
    let workspace = Workspace::find().unwrap();
    let line = ["cargo xtask", "test", "--filter", filter];
    let Command::Test(arguments) = Cli::parse_from(line).command else {
        panic!("not `test`")
    };
    let platform = Platform::load(&workspace, name).unwrap();
    let runs = runs(&workspace, &platform, &arguments, None, Scope::All).unwrap();
    let runs = runs.into_iter();
    runs.map(|run| (run.system.name, run.filter)).collect()
}

#[test]
fn a_filter_selects_by_any_of_its_texts() {
    let names = |filter, platform| -> Vec<_> {
        let selected = selected(filter, platform).into_iter();
        selected.map(|(name, _)| name).collect()
    };
    let two = "system::edf,system::order";
    assert_eq!(names(two, "pc99"), ["edf", "order"]);
    assert!(names("system::gpio", "pc99").is_empty());
    let gpio = ["gpio", "gpio-on-two-cores"];
    assert_eq!(names("system::gpio,system::rtc", "sabre"), gpio);
    // Each kind of tests gets its own texts.
    let pair = |name: &str, filter: &str| (name.to_string(), filter.to_string());
    assert_eq!(
        selected("fuzz::a,irq,system::order,budget", "kzm"),
        [
            pair("kernel-target", "irq,budget"),
            pair("order", ""),
            pair("kernel-fuzz-target", "fuzz::a")
        ]
    );
}

#[test]
fn the_fuzzer_also_runs_with_domains_and_breakpoints_where_systems_are_ready_made() {
    let workspace = Workspace::find().unwrap();
    let line = ["cargo xtask", "test", "--filter", "fuzz"];
    let Command::Test(arguments) = Cli::parse_from(line).command else {
        panic!("not `test`")
    };
    for (name, expected) in [("pc99", true), ("qemu-virt", true), ("kzm", false)] {
        let platform = Platform::load(&workspace, name).unwrap();
        let runs = runs(&workspace, &platform, &arguments, None, Scope::All).unwrap();
        let mut several = runs
            .iter()
            .filter(|run| run.abi.contains(&AbiOption::Domains));
        let run = several.next();
        assert_eq!(run.is_some(), expected, "{name}");
        if let Some(run) = run {
            assert!(run.abi.contains(&AbiOption::Hwdebug), "{name}");
            assert_eq!(run.filter, "fuzz", "{name}");
            assert_eq!(run.fuzz_divisor, Some(CALLS_DIVISOR), "{name}");
        }
    }
}

#[test]
fn an_example_that_is_not_there_is_refused() {
    let workspace = Workspace::find().unwrap();
    let check = |filter| require_examples(&workspace, &Filter::new(Some(filter)));
    let on_two_cores = "system::rtc-on-two-cores";
    for known in [
        "irq",
        "system",
        "system::demo,system::last",
        "system::gdb",
        on_two_cores,
    ] {
        assert!(check(known).is_ok(), "{known}");
    }
    let error = check("system::demo,system::demmo").unwrap_err().to_string();
    let begin =
        "no example has a name with `system::demmo`; there are, after `system::`: actions, apart, ";
    assert!(error.starts_with(begin), "{error}");
}

/// On a board whose architecture is tested elsewhere, a short run has each service once.
#[test]
fn services_of_boards_run_on_two_cores_instead() {
    let names = |name: &str, scope| -> Vec<String> {
        let workspace = Workspace::find().unwrap();
        let Command::Test(arguments) = Cli::parse_from(["cargo xtask", "test"]).command else {
            panic!("not `test`")
        };
        let platform = Platform::load(&workspace, name).unwrap();
        let runs = runs(&workspace, &platform, &arguments, None, scope).unwrap();
        let names = runs.iter().map(|run| run.system.name.clone());
        names.filter(|name| name.starts_with("rtc")).collect()
    };
    let both = ["rtc", "rtc-on-two-cores"];
    assert_eq!(names("tx1", Scope::Own(BOARD)), both[1..]);
    assert_eq!(names("tx1", Scope::All), both);
    assert_eq!(names("hikey", Scope::Portable), both);
}

#[test]
fn a_traced_example_has_the_cores_that_it_needs() {
    let workspace = Workspace::find().unwrap();
    let Command::Test(arguments) = Cli::parse_from(["cargo xtask", "test", "--all"]).command else {
        panic!("not `test`")
    };
    let platform = Platform::load(&workspace, "pc99").unwrap();
    let runs = runs(&workspace, &platform, &arguments, None, Scope::All).unwrap();
    let traced = runs.iter().filter(|run| run.is_example && run.is_traced);
    let mut seen = 0;
    for run in traced.filter(|run| run.system.cores(&platform) > 1) {
        let needed = run.system.cores(&platform);
        assert_eq!(run.cores.count, needed, "{}", run.system.name);
        seen += 1;
    }
    assert!(seen > 0);
}

#[test]
fn traces_are_compared_with_the_simulator() {
    let workspace = Workspace::find().unwrap();
    let plans: [(&[&str], &[&str]); 3] = [
        (&["--all"], &["pc99", "hikey", "sabre"]),
        (&[], &["pc99"]),
        (&["--filter", "trace"], &["pc99", "hikey", "sabre", "kzm"]),
    ];
    for (more, platforms) in plans {
        let line = ["cargo xtask", "test"].iter().chain(more);
        let Command::Test(arguments) = Cli::parse_from(line).command else {
            panic!("not `test`")
        };
        for name in platforms {
            let platform = Platform::load(&workspace, name).unwrap();
            let scope = Scope::of(&platform, more.is_empty());
            let runs = runs(&workspace, &platform, &arguments, None, scope).unwrap();
            let compared = runs.iter().filter(|run| run.system.name == TRACED);
            let cores: Vec<_> = compared.map(|run| run.cores.count).collect();
            assert_eq!(cores, [1], "{name} {more:?}");
        }
    }
}

#[test]
fn the_trace_of_tests_of_scheduling_is_checked_on_one_platform() {
    let workspace = Workspace::find().unwrap();
    let plans: [(&[&str], &str, usize); 4] = [
        (&["--all"], "pc99", 1),
        (&["--all"], "hikey", 0),
        (&["--filter", "trace"], "pc99", 1),
        (&[], "pc99", 0),
    ];
    for (more, name, expected) in plans {
        let line = ["cargo xtask", "test"].iter().chain(more);
        let Command::Test(arguments) = Cli::parse_from(line).command else {
            panic!("not `test`")
        };
        let platform = Platform::load(&workspace, name).unwrap();
        let scope = Scope::of(&platform, more.is_empty());
        let runs = runs(&workspace, &platform, &arguments, None, scope).unwrap();
        let traced = runs.iter().filter(|run| run.is_traced && !run.is_example);
        let checked = traced.filter(|run| run.keep == Keep::All);
        assert_eq!(checked.count(), expected, "{name} {more:?}");
    }
}

#[test]
fn schedulers_also_have_four_cores_in_a_full_run() {
    let workspace = Workspace::find().unwrap();
    for (all, name, expected) in [
        (true, "pc99", 1),
        (true, "hikey", 1),
        (true, "sabre", 0),
        (false, "pc99", 0),
    ] {
        let more: &[&str] = if all { &["--all"] } else { &[] };
        let line = ["cargo xtask", "test"].iter().chain(more);
        let Command::Test(arguments) = Cli::parse_from(line).command else {
            panic!("not `test`")
        };
        let platform = Platform::load(&workspace, name).unwrap();
        let scope = Scope::of(&platform, !all);
        let runs = runs(&workspace, &platform, &arguments, None, scope).unwrap();
        let schedulers = runs.iter().filter(|run| run.filter.contains("cores_simso"));
        let four = schedulers.filter(|run| run.cores.count == 4);
        assert_eq!(four.count(), expected, "{name}");
    }
}

/// A loader enters the kernels of ready-made systems with all their options, on one core and on four.
#[test]
fn each_option_of_ready_made_systems_is_tested_on_one_core_and_on_four() {
    let workspace = Workspace::find().unwrap();
    let line = ["cargo xtask", "test", "--filter", "loader"];
    let Command::Test(arguments) = Cli::parse_from(line).command else {
        panic!("not `test`")
    };
    for (name, own) in [
        ("pc99", AbiOption::Iommu),
        ("qemu-virt", AbiOption::Smc),
        ("zcu102", AbiOption::Smc),
    ] {
        let platform = Platform::load(&workspace, name).unwrap();
        let runs = runs(&workspace, &platform, &arguments, None, Scope::All).unwrap();
        assert!(runs.iter().all(|run| run.is_loaded), "{name}");
        for count in [1, 4] {
            let has = |kernel, option| {
                let mut own = runs.iter().filter(|run| run.cores.count == count);
                own.any(|run| run.kernel == kernel && run.abi.contains(&option))
            };
            for option in [own, AbiOption::LargeRoot] {
                assert!(has(Kernel::Debug, option) && has(Kernel::Bench, option));
            }
            assert!(has(Kernel::Debug, AbiOption::Hwdebug));
            assert_eq!(has(Kernel::Debug, AbiOption::Domains), count == 1);
        }
        // The loader's own firmware answers, too.
        let mut own = runs.iter().filter(|run| run.variant.is_some());
        let answers =
            own.any(|run| run.abi.contains(&AbiOption::Smc) && run.filter.contains("arm_smc"));
        assert_eq!(answers, name == "zcu102");
    }
}

/// On the board whose loaders can be started at level 3, they are also in a short run.
#[test]
fn the_loader_of_zcu102_starts_at_both_levels() {
    let workspace = Workspace::find().unwrap();
    let Command::Test(arguments) = Cli::parse_from(["cargo xtask", "test"]).command else {
        panic!("not `test`")
    };
    let platform = Platform::load(&workspace, "zcu102").unwrap();
    for is_short in [true, false] {
        let scope = Scope::of(&platform, is_short);
        let runs = runs(&workspace, &platform, &arguments, None, scope).unwrap();
        let loaded = runs.iter().filter(|run| run.is_loaded);
        let started = loaded.map(|run| (&*run.system.name, run.variant.map(|(name, _)| name)));
        let started: Vec<_> = started.take(4).collect();
        let [suite, task] = ["kernel-target", "kernel-loaded"];
        let level3 = Some("level3");
        let both = [(suite, None), (task, None), (suite, level3), (task, level3)];
        assert_eq!(started, both);
    }
}

/// What differs in options or files is compiled again.
#[test]
fn runs_share_what_is_compiled() {
    let workspace = Workspace::find().unwrap();
    let Command::Test(arguments) = Cli::parse_from(["cargo xtask", "test"]).command else {
        panic!("not `test`")
    };
    let load = |name| Platform::load(&workspace, name).unwrap();
    let mut files = BTreeSet::new();
    for platform in ["tx1", "qemu-virt", "zcu102"].map(load) {
        let scope = Scope::of(&platform, true);
        let runs = runs(&workspace, &platform, &arguments, None, scope).unwrap();
        let suite = runs.iter().filter(|run| run.system.name == "kernel-target");
        files.extend(suite.map(|run| run.files.clone()));
    }
    assert_eq!(files.len(), 1, "{files:?}");
    for platform in ["pc99", "hikey"].map(load) {
        let scope = Scope::of(&platform, true);
        let runs = runs(&workspace, &platform, &arguments, None, scope).unwrap();
        let stream = runs.iter().find(|run| run.filter == "stream");
        assert!(stream.is_none_or(|run| run.files == "stream"));
        // That of the benchmarks.
        let bench = runs.iter().find(|run| run.kernel == Kernel::Bench);
        assert!(bench.unwrap().abi.is_empty());
        // No kernel for two cores after one for four.
        assert!(runs.is_sorted_by_key(|run| run.cores.count > 2));
    }
}

#[test]
fn first_comes_what_is_first_anywhere() {
    let platforms = vec![vec!["a1", "a2", "a3"], vec!["b1"], vec!["c1", "c2"]];
    assert_eq!(interleave(platforms), ["a1", "b1", "c1", "a2", "c2", "a3"]);
}

#[test]
fn a_filter_selects_the_test_of_a_project_by_its_name() {
    let workspace = Workspace::find().unwrap();
    let folder = temporary::Folder::new().unwrap();
    let project = folder.path().join("hello");
    project::create(&workspace, &project, None).unwrap();
    let platform = Platform::load(&workspace, "pc99").unwrap();
    let count = |more: &[&str]| {
        let line = [&["cargo escapement", "test"], more].concat();
        let Command::Test(arguments) = Cli::parse_from(line).command else {
            panic!("not `test`")
        };
        let project = Some(&*project);
        let runs = runs(&workspace, &platform, &arguments, project, Scope::All);
        runs.unwrap().len()
    };
    assert_eq!(count(&[]), 1);
    assert_eq!(count(&["--filter", "hello"]), 1);
    assert_eq!(count(&["--filter", "other,system::hello"]), 1);
    assert_eq!(count(&["--filter", "other"]), 0);
}

#[test]
fn the_test_of_a_project_has_the_cores_of_its_system() {
    let workspace = Workspace::find().unwrap();
    let folder = temporary::Folder::new().unwrap();
    let project = folder.path().join("apart");
    project::create(&workspace, &project, Some("apart")).unwrap();
    let platform = Platform::load(&workspace, "pc99").unwrap();
    let Command::Test(arguments) = Cli::parse_from(["cargo escapement", "test"]).command else {
        panic!("not `test`")
    };
    let project = Some(&*project);
    let runs = runs(&workspace, &platform, &arguments, project, Scope::All);
    assert_eq!(runs.unwrap()[0].cores.count, 2);
}
