//! What is planned for each scope.

use clap::Parser;

use super::*;
use crate::cli::{Cli, Command};

#[test]
fn a_short_run_checks_traces_of_the_demo_on_three_boards() {
    let workspace = Workspace::find().unwrap();
    let Command::Test(arguments) = Cli::parse_from(["cargo xtask", "test"]).command else {
        panic!("not `test`")
    };
    for (name, cores) in [("pc99", 1), ("sabre", 1), ("hikey", 2)] {
        let platform = Platform::load(&workspace, name).unwrap();
        let scope = Scope::of(&platform, true);
        let runs = runs(&workspace, &platform, &arguments, scope).unwrap();
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
        let runs = runs(&workspace, &platform, &arguments, Scope::Portable).unwrap();
        let all: Vec<_> = runs
            .iter()
            .map(|run| (&*run.system.name, &*run.abi))
            .collect();
        assert_eq!(all, [("timers", abi)], "{name}");
    }
}

#[test]
fn a_traced_example_has_the_cores_that_it_needs() {
    let workspace = Workspace::find().unwrap();
    let Command::Test(arguments) = Cli::parse_from(["cargo xtask", "test", "--all"]).command else {
        panic!("not `test`")
    };
    let platform = Platform::load(&workspace, "pc99").unwrap();
    let runs = runs(&workspace, &platform, &arguments, Scope::All).unwrap();
    let traced = runs.iter().filter(|run| run.is_example && run.is_traced);
    let mut seen = 0;
    for run in traced.filter(|run| run.system.cores > 1) {
        assert_eq!(run.cores.count, run.system.cores, "{}", run.system.name);
        seen += 1;
    }
    assert!(seen > 0);
}

/// A loader enters the kernels of ready-made systems with all their options, on one core and on four.
#[test]
fn each_option_of_ready_made_systems_is_tested_on_one_core_and_on_four() {
    let workspace = Workspace::find().unwrap();
    let line = ["cargo xtask", "test", "--filter", "loader"];
    let Command::Test(arguments) = Cli::parse_from(line).command else {
        panic!("not `test`")
    };
    for (name, own) in [("pc99", AbiOption::Iommu), ("qemu-virt", AbiOption::Smc)] {
        let platform = Platform::load(&workspace, name).unwrap();
        let runs = runs(&workspace, &platform, &arguments, Scope::All).unwrap();
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
    }
}

#[test]
fn first_comes_what_is_first_anywhere() {
    let platforms = vec![vec!["a1", "a2", "a3"], vec!["b1"], vec!["c1", "c2"]];
    assert_eq!(interleave(platforms), ["a1", "b1", "c1", "a2", "c2", "a3"]);
}
