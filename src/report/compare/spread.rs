//! The spread between tables that were treated alike: what one run cannot know.

use serde::Serialize;

use super::super::document::{Document, Window};
use super::super::finite::Finite;
use super::setup::{Setup, Side, same_plan};
use super::statistics::mean_of;
use super::windows::WindowName;

/// A figure over several tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpreadFigure {
    /// What it is.
    pub what: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Tables that show it.
    pub tables: usize,
    /// Mean over them.
    pub mean: Finite,
    /// Standard deviation between them; null for one table.
    pub deviation: Finite,
    /// Smallest.
    pub min: Finite,
    /// Largest.
    pub max: Finite,
    /// 95 % interval of the mean over tables, by Student's distribution; null for one table.
    pub ci95: Option<[Finite; 2]>,
}

/// A window over several tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowSpread {
    /// Which.
    pub window: WindowName,
    /// Its figures; one that no table shows is left out.
    pub figures: Vec<SpreadFigure>,
}

/// Tables that were treated alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// What the sessions are called here.
    pub names: Vec<String>,
    /// Whether the simulated endpoint answered.
    pub simulated: bool,
    /// Of the sessions' verdicts.
    pub session: Vec<SpreadFigure>,
    /// Window by window.
    pub windows: Vec<WindowSpread>,
}

/// The sessions in groups of `least` or more that did the same to tables of the same kind, but for the seed.
pub fn spreads(sides: &[Side<'_>], least: usize) -> Vec<Spread> {
    let mut groups: Vec<(Setup, Vec<&Side<'_>>)> = Vec::new();
    for side in sides {
        let setup = Setup::of(side);
        let alike = |(of, members): &&mut (Setup, Vec<&Side<'_>>)| {
            of.repeats(&setup) && members.first().is_some_and(|first| same_plan(first.document, side.document))
        };
        match groups.iter_mut().find(alike) {
            Some((_, members)) => members.push(side),
            None => groups.push((setup, vec![side])),
        }
    }
    groups.into_iter().filter(|(_, members)| members.len() >= least.max(2)).map(|(setup, members)| spread(&setup, &members)).collect()
}

fn spread(setup: &Setup, members: &[&Side<'_>]) -> Spread {
    let documents: Vec<&Document> = members.iter().map(|side| side.document).collect();
    let verdicts = |of: fn(&Document) -> Finite| documents.iter().filter_map(|d| of(d).get()).collect::<Vec<f64>>();
    let session = [
        figure("sustained", "/s", &verdicts(|d| d.verdict.sustained_per_s)),
        figure("burst", "units", &verdicts(|d| d.verdict.burst_units)),
        figure("time to ACTIVE", "s", &verdicts(|d| d.target.time_to_active_s)),
    ];
    // The nth window of a name in one session is the nth of that name in the others.
    let mut names: Vec<(WindowName, usize)> = Vec::new();
    for window in documents.iter().flat_map(|d| &d.windows) {
        let name = WindowName::of(window);
        if name.offered_per_s.get().is_some() && !names.iter().any(|(known, _)| known.is_the_same(&name)) {
            let most = documents.iter().map(|d| named(d, &name).count()).max().unwrap_or(0);
            names.extend((0..most).map(|nth| (name.clone(), nth)));
        }
    }
    let windows = names.into_iter().map(|(name, nth)| {
        let each: Vec<&Window> = documents.iter().filter_map(|d| named(d, &name).nth(nth)).collect();
        let values = |of: fn(&Window) -> Finite| each.iter().filter_map(|w| of(w).get()).collect::<Vec<f64>>();
        let figures = [
            figure("accepted", "/s", &values(|w| w.accepted_per_s)),
            figure("sustained", "/s", &values(|w| w.sustained_per_s)),
            figure("burst", "units", &values(|w| w.burst_units)),
            figure("first throttle", "s", &values(|w| w.first_throttle_s)),
        ];
        let number = each.first().map_or(name.number, |w| w.index + 1);
        WindowSpread { window: WindowName { number, ..name }, figures: figures.into_iter().flatten().collect() }
    });
    Spread {
        names: members.iter().map(|side| super::super::clean::clean_ascii(side.name)).collect(),
        simulated: setup.simulated,
        session: session.into_iter().flatten().collect(),
        windows: windows.collect(),
    }
}

fn named<'a>(document: &'a Document, name: &'a WindowName) -> impl Iterator<Item = &'a Window> {
    document.windows.iter().filter(|window| WindowName::of(window).is_the_same(name))
}

fn figure(what: &'static str, unit: &'static str, values: &[f64]) -> Option<SpreadFigure> {
    let of = mean_of(values);
    let mean = of.map(|(mean, ..)| mean).or_else(|| values.first().copied())?;
    Some(SpreadFigure {
        what,
        unit,
        tables: values.len(),
        mean: mean.into(),
        deviation: of.map(|(_, deviation, _)| deviation).into(),
        min: values.iter().copied().fold(f64::INFINITY, f64::min).into(),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max).into(),
        ci95: of.map(|(_, _, (low, high))| [low.into(), high.into()]),
    })
}
