//! Schedulability experiments with random task sets.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use experiments::{ALL, Experiment, TASKS};

use crate::system::figures;
use crate::{Outcome, Result, print};

/// Which experiments, and on what.
#[derive(Args)]
pub(crate) struct Experiments {
    /// The experiment, or `all`; they are listed if there is no name.
    name: Option<String>,
    /// The number of task sets for each utilisation.
    #[arg(long, default_value_t = experiments::SETS)]
    sets: u32,
    /// The seed of the sets.
    #[arg(long, default_value_t = experiments::SEED)]
    seed: u64,
    /// The kernel's costs.
    #[arg(long)]
    overheads: PathBuf,
    /// The folder of the CSV and SVG files.
    #[arg(long)]
    out: PathBuf,
}

/// Runs the experiments of a name, or lists all.
pub(crate) fn run(arguments: &Experiments) -> Result {
    let Some(name) = &arguments.name else {
        return print(&list());
    };
    let chosen = named(name)?;
    let figures = figures(&arguments.overheads)?;
    let folder = &arguments.out;
    let shown = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("cannot create {shown}"))?;
    for one in chosen {
        let (sets, seed) = (arguments.sets, arguments.seed);
        let curves = experiments::run(&one, &figures, sets, seed)?;
        for (kind, text) in [("csv", curves.csv()), ("svg", curves.svg())] {
            let file = folder.join(format!("{}.{kind}", one.name));
            whole_file::write(&file, text)
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        print(&format!(
            "{}: {sets} sets of {TASKS} tasks for each utilisation, seed {seed}, in {shown}/{}.csv and .svg\n",
            one.name, one.name
        ))?;
    }
    Ok(Outcome::Holds)
}

fn list() -> String {
    let lines = ALL
        .iter()
        .map(|one| format!("{:18}{}\n", one.name, one.title()));
    lines.collect::<String>() + "all               all of them\n"
}

fn named(name: &str) -> Result<Vec<Experiment>> {
    if name == "all" {
        return Ok(ALL.to_vec());
    }
    let Some(one) = ALL.iter().find(|one| one.name == name) else {
        let names: Vec<_> = ALL.iter().map(|one| one.name).collect();
        bail!(
            "there is no experiment `{name}`; they are {} and all",
            names.join(", ")
        );
    };
    Ok(vec![*one])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_repository(path: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(path)
    }

    #[test]
    fn experiments_are_listed_and_unknown_ones_refused() {
        let list = list();
        assert!(
            list.starts_with("gedf-long-mean    4-core global EDF, periods 1 ms to 10 ms, mean"),
            "{list}"
        );
        assert_eq!(list.lines().count(), ALL.len() + 1);
        let error = named("gedf").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no experiment `gedf`; they are gedf-long-mean, "),
            "{error}"
        );
        assert_eq!(named("all").unwrap().len(), ALL.len());
    }

    #[test]
    fn curves_and_their_drawing_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = Experiments {
            name: Some("pedf-short-worst".into()),
            sets: 1,
            seed: 7,
            overheads: of_repository("benches/overheads/pc99.toml"),
            out: folder.path().join("new"),
        };
        run(&arguments).unwrap();
        let text = |kind| {
            fs::read_to_string(folder.path().join(format!("new/pedf-short-worst.{kind}"))).unwrap()
        };
        let csv = text("csv");
        assert!(
            csv.contains("seed 7\nutilisation,\"no overheads\","),
            "{csv}"
        );
        assert_eq!(csv.lines().count(), 2 + 20);
        assert!(csv.contains("\n0.2,1.000,"), "{csv}");
        assert!(text("svg").ends_with("</svg>\n"));
    }

    /// The first lines of the files in the book say how they were made; the curves themselves take long.
    #[test]
    fn the_curves_of_the_book_are_those_of_the_command() {
        let folder = of_repository("docs/src/analysis/experiments");
        for one in ALL {
            let file = folder.join(format!("{}.csv", one.name));
            let csv = fs::read_to_string(&file).unwrap();
            let expected = format!("# {}; ", one.title());
            assert!(csv.starts_with(&expected), "{csv}");
            let seed = format!(" seed {}\n", experiments::SEED);
            assert!(csv.contains(&seed), "{csv}");
            let sets = format!("; {} sets of ", experiments::SETS);
            assert!(csv.contains(&sets), "{csv}");
            assert!(file.with_extension("svg").exists());
        }
    }

    /// The table of the page is made of one line of each curve of global EDF.
    #[test]
    fn the_page_shows_the_curves() {
        let folder = of_repository("docs/src/analysis");
        let page = fs::read_to_string(folder.join("experiments.md")).unwrap();
        for (name, title) in [
            ("gedf-long-mean", "1 to 10 ms, mean"),
            ("gedf-long-worst", "1 to 10 ms, worst"),
            ("gedf-short-mean", "0.1 to 1 ms, mean"),
            ("gedf-short-worst", "0.1 to 1 ms, worst"),
        ] {
            let csv = fs::read_to_string(folder.join(format!("experiments/{name}.csv"))).unwrap();
            let line = csv.lines().find(|line| line.starts_with("2.2,")).unwrap();
            // The bounds have a sentence of their own.
            let shares = line.split(',').skip(1).take(5);
            let percent =
                shares.map(|share| format!(" {:.0} % |", share.parse::<f64>().unwrap() * 100.0));
            let row = format!("| {title} |{}", percent.collect::<String>());
            assert!(page.contains(&row), "{row}");
        }
    }
}
