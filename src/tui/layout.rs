//! Layout: how much a screen of a given size can say.

use ratatui::layout::Rect;

/// What fits. Load runs in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Not even the figures fit.
    TooSmall,
    /// Figures only.
    Numbers,
    /// Header and one panel.
    Compact,
    /// Header, chart and facts.
    Standard,
    /// The same with room.
    Full,
    /// Several panels side by side.
    Wide,
}

impl Tier {
    /// The tier of a screen of this size.
    pub const fn of(width: u16, height: u16) -> Self {
        match (width, height) {
            (150.., 45..) => Self::Wide,
            (100.., 30..) => Self::Full,
            (80.., 24..) => Self::Standard,
            (60.., 16..) => Self::Compact,
            (24.., 6..) => Self::Numbers,
            _ => Self::TooSmall,
        }
    }
}

/// The upper `rows` of an area, and the rest.
pub fn split_top(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}

/// All but the lowest `rows` of an area, and those.
pub fn split_bottom(area: Rect, rows: u16) -> (Rect, Rect) {
    split_top(area, area.height.saturating_sub(rows))
}

/// The left `columns` of an area, and the rest after a gap of `gap` columns.
pub fn split_left(area: Rect, columns: u16, gap: u16) -> (Rect, Rect) {
    let columns = columns.min(area.width);
    let rest = (columns + gap).min(area.width);
    (Rect { width: columns, ..area }, Rect { x: area.x + rest, width: area.width - rest, ..area })
}

/// An area of at most this size in the middle of another.
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tiers_begin_at_their_documented_sizes() {
        assert_eq!(Tier::of(200, 60), Tier::Wide);
        assert_eq!(Tier::of(100, 30), Tier::Full);
        assert_eq!(Tier::of(99, 30), Tier::Standard);
        assert_eq!(Tier::of(80, 24), Tier::Standard);
        assert_eq!(Tier::of(60, 16), Tier::Compact);
        assert_eq!(Tier::of(24, 6), Tier::Numbers);
        assert_eq!(Tier::of(200, 5), Tier::TooSmall);
        assert_eq!(Tier::of(0, 0), Tier::TooSmall);
    }

    proptest! {
        #[test]
        fn parts_stay_inside_the_whole(w in 0u16..300, h in 0u16..100, a in 0u16..400, b in 0u16..400) {
            let area = Rect::new(0, 0, w, h);
            let (top, rest) = split_top(area, a);
            prop_assert_eq!(top.height + rest.height, h);
            let (left, right) = split_left(area, a, b);
            prop_assert!(left.width + right.width <= w && right.right() <= w);
            let inner = centred(area, a, b);
            prop_assert!(inner.right() <= w && inner.bottom() <= h);
        }
    }
}
