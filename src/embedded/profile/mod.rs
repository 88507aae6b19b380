//! Profiles: what kind of table the endpoint simulates. Shipped ones live in `assets/profiles`, others are TOML files.

mod file;

use std::time::Duration;

use super::fault::Fault;
use super::latency::{Latencies, Spread};
use super::model::{Shape, Throughput};
use file::File;

/// The shipped profiles: name and TOML.
const SHIPPED: [(&str, &str); 4] = [
    ("fresh", include_str!("../../../assets/profiles/fresh.toml")),
    ("provisioned", include_str!("../../../assets/profiles/provisioned.toml")),
    ("warm", include_str!("../../../assets/profiles/warm.toml")),
    ("null", include_str!("../../../assets/profiles/null.toml")),
];

/// Everything that a simulated table does by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its name, or the file it was read from.
    pub name: String,
    /// What it is, in one sentence.
    pub about: String,
    /// Partitions, rates and growth.
    pub shape: Shape,
    /// Provisioned capacity that tables have whatever billing mode they were created with.
    pub provisioned: Option<Throughput>,
    /// From CreateTable to ACTIVE.
    pub activation: Duration,
    /// From DeleteTable to gone.
    pub deletion: Duration,
    /// How long UpdateTable leaves the table UPDATING.
    pub updating: Duration,
    /// How long answers take.
    pub latencies: Latencies,
    /// Scripted trouble.
    pub faults: Vec<Fault>,
}

impl Default for Profile {
    /// The profile `fresh`.
    fn default() -> Self {
        Self {
            name: "fresh".to_owned(),
            about: String::new(),
            shape: Shape::default(),
            provisioned: None,
            activation: Duration::from_millis(7_400),
            deletion: Duration::from_secs(1),
            updating: Duration::from_secs(1),
            latencies: Latencies {
                write: Spread::new(Duration::from_micros(4_500), Duration::from_micros(9_000)),
                read: Spread::new(Duration::from_micros(3_000), Duration::from_micros(6_500)),
                refusal: Spread::new(Duration::from_micros(3_000), Duration::from_micros(6_500)),
            },
            faults: Vec::new(),
        }
    }
}

impl Profile {
    /// The profile of this name, or in this TOML file. The error says which names there are, or what is wrong on which line.
    pub fn find(name_or_file: &str) -> Result<Self, String> {
        if let Some((name, text)) = SHIPPED.iter().find(|(name, _)| *name == name_or_file) {
            return Self::parse(text, name);
        }
        let names = SHIPPED.map(|(name, _)| name).join(", ");
        if !std::path::Path::new(name_or_file).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
            return Err(format!("`{name_or_file}` is not a profile; type one of {names}, or the name of a file that ends in .toml"));
        }
        let text = std::fs::read_to_string(name_or_file)
            .map_err(|error| format!("cannot read the profile {name_or_file} ({error}); type one of {names}, or a file that exists"))?;
        Self::parse(&text, name_or_file)
    }

    /// Reads a profile from TOML; what it leaves out is as in `fresh`. `file` is named in errors.
    pub fn parse(text: &str, file: &str) -> Result<Self, String> {
        let read: File = toml::from_str(text).map_err(|error| {
            let line = error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
            let at = line.map_or_else(String::new, |line| format!("line {line}: "));
            format!("{file}: {at}{}", error.message())
        })?;
        read.into_profile(file).map_err(|message| format!("{file}: {message}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_profile_is_found_by_its_name() {
        for (name, _) in SHIPPED {
            let profile = Profile::find(name).unwrap();
            assert_eq!(profile.name, name);
            assert!(!profile.about.is_empty());
        }
        assert!(Profile::find("null").unwrap().shape.unlimited);
        let fresh = Profile::find("fresh").unwrap();
        assert_eq!(Profile { about: String::new(), ..fresh }, Profile::default(), "the file says what the code does");
    }

    #[test]
    fn an_unknown_profile_names_the_known_ones() {
        for typed in ["fersh", "no/such/file.toml"] {
            let error = Profile::find(typed).unwrap_err();
            assert!(error.contains("fresh, provisioned, warm, null"), "{error}");
        }
    }

    #[test]
    fn errors_name_the_line_or_the_member_and_what_to_write() {
        let error = |text: &str| Profile::parse(text, "p.toml").unwrap_err();
        assert!(error("about = \"x\"\n[partitions]\ncuont = 3\n").starts_with("p.toml: line 3: unknown field `cuont`"));
        assert!(error("about = ").starts_with("p.toml: line 1: "));
        for (text, expected) in [
            ("[partitions]\ncount = 0", "1 to 10000 partitions"),
            ("[partitions]\ncount = 3\nshares = [1, 2]", "one figure per partition"),
            ("[partitions]\nshares = [1, -1]", "greater than zero"),
            ("[partitions]\nshares = [nan, 1]", "greater than zero"),
            ("[partitions]\nwrite_per_s = [1000, 0]\n", "partitions.write_per_s: 0 is not within"),
            ("[partitions]\nsplits_after_s = [2, 1]", "sort them"),
            ("[partitions]\nbucket_s = inf", "partitions.bucket_s"),
            ("[table]\nactivation_s = -1", "table.activation_s: -1"),
            ("[table]\nprovisioned_write_per_s = 5", "both or neither"),
            ("[latency_ms]\nread = { p50 = 5, p99 = 4 }", "the p99 is at least the p50"),
            ("[[faults]]\nfrom_s = 1\nto_s = 1\nkind = \"drop\"", "swap from_s and to_s"),
            ("[[faults]]\nfrom_s = 1\nto_s = 2\nkind = \"delay\"", "add delay_ms"),
            ("[[faults]]\nfrom_s = 1\nto_s = 2\nkind = \"explode\"", "write delay, stall"),
            ("[[faults]]\nfrom_s = 1\nto_s = 2\nkind = \"drop\"\nshare = 2", "from 0 to 1"),
        ] {
            assert!(error(text).contains(expected), "{text}: {}", error(text));
        }
    }

    #[test]
    fn partitions_can_be_uneven_and_of_different_rates() {
        let profile = Profile::parse("[partitions]\nshares = [1, 3]\nwrite_per_s = [500, 2000]\n", "p").unwrap();
        let slices = &profile.shape.slices;
        assert_eq!((slices[0].weight, slices[0].rates.write, slices[0].rates.read), (1.0, 500, 3_000));
        assert_eq!((slices[1].weight, slices[1].rates.write), (3.0, 2_000));
        assert_eq!(profile.shape.throughput(), Throughput { write: 2_500, read: 6_000 });
    }
}
