//! The plans that are shipped, and how a plan is found by name or file.

use std::path::Path;
use std::sync::LazyLock;

use super::{Plan, parse};

/// A shipped plan.
#[derive(Clone, Debug)]
pub struct Preset {
    /// The plan.
    pub plan: Plan,
    /// Its TOML, to start one's own from.
    pub text: &'static str,
}

const TEXTS: [&str; 11] = [
    include_str!("../../assets/plans/quick.toml"),
    include_str!("../../assets/plans/ceiling.toml"),
    include_str!("../../assets/plans/hot-key.toml"),
    include_str!("../../assets/plans/item-size.toml"),
    include_str!("../../assets/plans/reads.toml"),
    include_str!("../../assets/plans/reads-edge.toml"),
    include_str!("../../assets/plans/window-length.toml"),
    include_str!("../../assets/plans/burst-refill.toml"),
    include_str!("../../assets/plans/find-ceiling.toml"),
    include_str!("../../assets/plans/growth.toml"),
    include_str!("../../assets/plans/study-2019.toml"),
];

static PRESETS: LazyLock<Vec<Preset>> =
    LazyLock::new(|| TEXTS.into_iter().filter_map(|text| parse(text, "shipped plan").ok().map(|plan| Preset { plan, text })).collect());

/// The shipped plans, about the shortest first.
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

/// The plan of that name, or in that file. The error names the known ones.
pub fn find(name_or_file: &str) -> Result<Plan, String> {
    if let Some(preset) = presets().iter().find(|preset| preset.plan.name == name_or_file) {
        return Ok(preset.plan.clone());
    }
    let path = Path::new(name_or_file);
    let looks_like_file = path.extension().is_some() || name_or_file.contains(std::path::MAIN_SEPARATOR);
    if looks_like_file || path.is_file() {
        let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read the plan {name_or_file}: {e}"))?;
        return parse(&text, name_or_file).map_err(|e| e.to_string());
    }
    let known: Vec<&str> = presets().iter().map(|preset| preset.plan.name.as_str()).collect();
    Err(format!("there is no plan `{name_or_file}`; type one of {}, or the path of a TOML file", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_plan_reads() {
        assert_eq!(presets().len(), TEXTS.len());
        assert!(presets().iter().all(|preset| !preset.plan.about.is_empty()));
    }

    #[test]
    fn an_unknown_plan_names_the_known_ones() {
        let said = find("celing").expect_err("unknown");
        assert!(said.contains("quick, ceiling"), "{said}");
        assert!(find("no-such-file.toml").expect_err("no file").contains("cannot read the plan"));
    }
}
