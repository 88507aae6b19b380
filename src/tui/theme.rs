//! Colours: the only place that names any. A theme gives each role a style; text and background stay what the terminal
//! has. No role pair differs by red against green alone, and every state that has a colour also has a word.

use std::str::FromStr;

use ratatui::style::{Color, Modifier, Style};

/// Which colours to draw with, as chosen by the person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// By `NO_COLOR`, `COLORTERM` and `TERM`.
    #[default]
    Auto,
    /// 256 colours.
    Dark256,
    /// The sixteen colours that the terminal's own palette defines.
    Ansi16,
    /// No colour: bold, dim, reverse and underline only.
    Mono,
}

impl FromStr for ThemeChoice {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, Self::Err> {
        match typed {
            "auto" => Ok(Self::Auto),
            "256" => Ok(Self::Dark256),
            "16" => Ok(Self::Ansi16),
            "mono" => Ok(Self::Mono),
            _ => Err(format!("`{typed}` is no theme; type auto, 256, 16 or mono")),
        }
    }
}

/// What a piece of the screen is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text and figures.
    Text,
    /// A figure or word that answers the question.
    Strong,
    /// Labels and what may be overlooked.
    Quiet,
    /// Rules and axes.
    Rule,
    /// Headings of panels.
    Heading,
    /// The one accent: what is chosen, what the eye should find.
    Accent,
    /// Offered load.
    Offered,
    /// Accepted load.
    Accepted,
    /// Throttled load.
    Throttled,
    /// Failures and errors.
    Failed,
    /// What the person should read.
    Warning,
    /// A stamp: SIMULATED.
    Stamp,
    /// A key in the footer and the help.
    Key,
    /// The chosen row of a list.
    Chosen,
}

/// Every role.
#[cfg(test)]
pub const ROLES: [Role; 14] = [
    Role::Text,
    Role::Strong,
    Role::Quiet,
    Role::Rule,
    Role::Heading,
    Role::Accent,
    Role::Offered,
    Role::Accepted,
    Role::Throttled,
    Role::Failed,
    Role::Warning,
    Role::Stamp,
    Role::Key,
    Role::Chosen,
];

/// A style for every role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    depth: Depth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    Indexed,
    Ansi,
    Mono,
}

impl Theme {
    /// The theme for a choice in this environment; `var` reads an environment variable. `NO_COLOR` decides unless a
    /// theme was chosen.
    pub fn choose(choice: ThemeChoice, var: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| var(name).is_some_and(|value| !value.is_empty());
        let depth = match choice {
            ThemeChoice::Mono => Depth::Mono,
            // With NO_COLOR crossterm turns every colour into a reset of all attributes, so no colour may reach it.
            _ if set("NO_COLOR") => Depth::Mono,
            ThemeChoice::Dark256 => Depth::Indexed,
            ThemeChoice::Ansi16 => Depth::Ansi,
            ThemeChoice::Auto if set("COLORTERM") => Depth::Indexed,
            ThemeChoice::Auto => match var("TERM").unwrap_or_default().as_str() {
                term if term.contains("256color") || term.contains("direct") => Depth::Indexed,
                "" | "dumb" | "vt100" | "vt102" | "vt220" => Depth::Mono,
                _ => Depth::Ansi,
            },
        };
        Self { depth }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        let plain = Style::new().fg(Color::Reset).bg(Color::Reset);
        let coloured = |indexed: u8, ansi: Color| {
            plain.fg(match self.depth {
                Depth::Indexed => Color::Indexed(indexed),
                Depth::Ansi => ansi,
                Depth::Mono => Color::Reset,
            })
        };
        let quiet = |style: Style| if self.depth == Depth::Mono { style.add_modifier(Modifier::DIM) } else { style };
        match role {
            Role::Text | Role::Offered => plain,
            Role::Strong | Role::Heading | Role::Key => plain.add_modifier(Modifier::BOLD),
            Role::Quiet => quiet(coloured(245, Color::DarkGray)),
            Role::Rule => quiet(coloured(240, Color::DarkGray)),
            Role::Accent => coloured(38, Color::Cyan).add_modifier(Modifier::BOLD),
            Role::Accepted => coloured(38, Color::Cyan),
            Role::Throttled | Role::Warning => coloured(214, Color::Yellow).add_modifier(Modifier::BOLD),
            Role::Failed => coloured(170, Color::Magenta).add_modifier(Modifier::BOLD),
            Role::Stamp => coloured(214, Color::Yellow).add_modifier(Modifier::BOLD | Modifier::REVERSED),
            Role::Chosen => plain.add_modifier(Modifier::REVERSED),
        }
    }

    /// The style of cells that nothing was drawn in.
    pub fn empty(&self) -> Style {
        self.style(Role::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(choice: ThemeChoice, pairs: &'static [(&str, &str)]) -> Depth {
        Theme::choose(choice, |name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())).depth
    }

    #[test]
    fn the_environment_decides_how_many_colours() {
        use ThemeChoice::{Ansi16, Auto, Dark256};
        assert_eq!(chosen(Auto, &[("TERM", "tmux-256color")]), Depth::Indexed);
        assert_eq!(chosen(Auto, &[("TERM", "screen")]), Depth::Ansi);
        assert_eq!(chosen(Auto, &[("TERM", "xterm"), ("COLORTERM", "truecolor")]), Depth::Indexed);
        assert_eq!(chosen(Auto, &[("TERM", "dumb")]), Depth::Mono);
        assert_eq!(chosen(Auto, &[("TERM", "xterm-256color"), ("NO_COLOR", "1")]), Depth::Mono);
        assert_eq!(chosen(Auto, &[("TERM", "xterm-256color"), ("NO_COLOR", "")]), Depth::Indexed);
        assert_eq!(chosen(Dark256, &[("NO_COLOR", "1")]), Depth::Mono);
        assert_eq!(chosen(Ansi16, &[]), Depth::Ansi);
    }

    #[test]
    fn the_monochrome_theme_has_no_colour_and_still_tells_the_roles_apart() {
        let mono = Theme { depth: Depth::Mono };
        for role in ROLES {
            let style = mono.style(role);
            assert_eq!((style.fg, style.bg), (Some(Color::Reset), Some(Color::Reset)), "{role:?}");
        }
        for (one, other) in
            [(Role::Accepted, Role::Throttled), (Role::Text, Role::Chosen), (Role::Text, Role::Stamp), (Role::Text, Role::Quiet)]
        {
            assert_ne!(mono.style(one), mono.style(other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn no_theme_sets_a_background_or_uses_red_or_green() {
        for depth in [Depth::Indexed, Depth::Ansi, Depth::Mono] {
            for role in ROLES {
                let style = Theme { depth }.style(role);
                assert_eq!(style.bg, Some(Color::Reset), "{role:?}");
                assert!(!matches!(style.fg, Some(Color::Red | Color::Green | Color::LightRed | Color::LightGreen)), "{role:?}");
            }
        }
    }
}
