//! The page of a session: whole, closed in itself, harmless, and readable in both colour schemes.

#[path = "support/mod.rs"]
mod bench;
#[path = "support/story.rs"]
mod story;
#[path = "support/telling.rs"]
mod telling;

use throttlescope::report::{Document, Finite, html};

fn page(document: &Document) -> String {
    html(document).unwrap_or_else(|why| panic!("{why}"))
}

/// The tags of a page in order, each with what stands in it; text and style are left out.
fn tags(page: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = rest[start..].find('>').unwrap_or_else(|| panic!("a tag that never ends: {}", &rest[start..])) + start;
        found.push(&rest[start + 1..end]);
        rest = &rest[end + 1..];
    }
    found
}

fn name(tag: &str) -> &str {
    tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or_default()
}

/// Panics unless every element that is opened is closed, in order, and every attribute is quoted.
fn is_well_formed(page: &str) {
    const EMPTY: [&str; 3] = ["meta", "br", "!DOCTYPE"];
    let mut open = Vec::new();
    for tag in tags(page) {
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
        if EMPTY.contains(&name(tag)) || tag.ends_with('/') {
            continue;
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name(tag)), "<{tag}>");
        } else {
            open.push(name(tag));
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

fn documents() -> [(&'static str, Document); 5] {
    [
        ("whole", telling::whole()),
        ("failed", telling::failed()),
        ("client-bound", telling::client_bound()),
        ("nothing", telling::nothing()),
        ("hostile", telling::hostile()),
    ]
}

#[test]
fn the_page_is_well_formed_and_loads_nothing() {
    for (which, document) in documents() {
        let page = page(&document);
        is_well_formed(&page);
        for tag in tags(&page) {
            let known = [
                "!DOCTYPE",
                "html",
                "head",
                "meta",
                "title",
                "style",
                "body",
                "main",
                "section",
                "p",
                "strong",
                "h1",
                "h2",
                "h3",
                "ul",
                "li",
                "dl",
                "dt",
                "dd",
                "div",
                "span",
                "figure",
                "svg",
                "desc",
                "rect",
                "line",
                "polyline",
                "polygon",
                "text",
                "table",
                "thead",
                "tbody",
                "tr",
                "th",
                "td",
                "blockquote",
                "details",
                "summary",
                "br",
                "details",
                "summary",
            ];
            assert!(known.contains(&name(tag)), "{which}: <{tag}>");
            for attribute in [" src=", " href=", "xlink", " on", " style=", "url("] {
                assert!(!tag.contains(attribute), "{which}: <{tag}>");
            }
        }
        let style = &page[page.find("<style>").expect("a style")..page.find("</style>").expect("its end")];
        assert!(!style.contains("url(") && !style.contains("@import") && !style.contains("http"), "{style}");
        assert!(page.contains("default-src &#39;none&#39;") || page.contains("default-src 'none'"), "{which}");
    }
}

#[test]
fn text_from_outside_is_shown_and_never_interpreted() {
    let page = page(&telling::hostile());
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    // The message is there in full, on one line.
    assert!(page.contains("?[2J  ?? &amp; &quot;q&quot; 'q' ```` # not a heading"), "{page}");
}

#[test]
fn ids_are_unique_and_every_chart_is_told_in_words() {
    let page = page(&telling::whole());
    let mut ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let charts = page.matches("<svg ").count();
    assert_eq!((charts, page.matches("role=\"img\"").count()), (4, 4));
    for chart in page.split("aria-labelledby=\"").skip(1) {
        for id in chart.split('"').next().unwrap_or_default().split(' ') {
            assert!(ids.contains(&id), "{id}");
        }
    }
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all);
    assert!(
        page.contains("offered at most 8,000/s; accepted at most 8,000/s") || page.contains("offered at most 8,000/s; accepted at most")
    );
    assert!(page.contains("sustained 4,000/s") && page.contains("WarmThroughput 4,000 write units/s"), "{page}");
}

#[test]
fn what_stands_first_is_what_matters_first() {
    let whole = page(&telling::whole());
    let order = [
        "SIMULATED</strong>",
        "SERVICE-BOUND",
        "Key figures",
        "Rates, requests/s",
        "Latency of accepted requests, ms",
        ">Windows<",
        ">Throttles<",
        "Throttled against clean latency",
        ">Events<",
        ">Method<",
        ">Environment<",
    ];
    let body = &whole[whole.find("<body>").expect("a body")..];
    let places: Vec<Option<usize>> = order.iter().map(|part| body.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    // Headings go down one level at a time.
    let levels: Vec<u32> =
        tags(body).iter().filter_map(|tag| name(tag).strip_prefix('h')?.parse().ok().filter(|_| !tag.starts_with('/'))).collect();
    assert_eq!(levels.first(), Some(&1));
    assert!(levels.windows(2).all(|two| two[1] <= two[0] + 1), "{levels:?}");
    assert!(body.contains("monitor that alarms on 5xx only would have seen nothing: 198,031 of 198,031"));
    let failed = page(&telling::failed());
    assert!(!failed.contains("SIMULATED") && failed.contains(">Failures<") && failed.contains("MAY BE LEFT BEHIND"));
}

#[test]
fn every_figure_that_is_not_known_is_a_dash() {
    for (which, document) in documents() {
        let page = page(&document);
        for wrong in ["NaN", "null", "None", "inf<", "<td class=\"figure\"></td>", "<dd></dd>", "<td class=\"word\"></td>"] {
            assert!(!page.contains(wrong), "{which}: {wrong}");
        }
    }
    let client_bound = page(&telling::client_bound());
    assert!(client_bound.contains("<dt>Sustained ceiling</dt><dd>-</dd>"), "{client_bound}");
    assert!(client_bound.contains("<td class=\"figure\">-</td>"));
}

#[test]
fn every_table_names_its_columns_and_rows() {
    let page = page(&telling::whole());
    for table in page.split("<table>").skip(1) {
        let table = table.split("</table>").next().unwrap_or_default();
        let rows: Vec<&str> = table.split("<tr>").skip(1).collect();
        let cells = |row: &str| row.matches("<th ").count() + row.matches("<td ").count();
        assert_eq!(cells(rows[0]), rows[0].matches("scope=\"col\"").count());
        assert!(rows.len() > 1);
        for row in &rows[1..] {
            assert_eq!((row.matches("scope=\"row\"").count(), cells(row)), (1, cells(rows[0])), "{row}");
        }
    }
}

/// Contrast of two colours `#rrggbb`, as WCAG defines it.
fn contrast(a: &str, b: &str) -> f64 {
    let luminance = |colour: &str| {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap_or_else(|e| panic!("{colour}: {e}"))) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn words_can_be_read_in_light_and_dark() {
    let page = page(&telling::whole());
    let (light, dark) = page.split_once("@media (prefers-color-scheme: dark)").expect("a dark scheme");
    for scheme in [light, dark.split("* {").next().unwrap_or_default()] {
        let colour = |name: &str| {
            let rest = scheme.split(&format!("--{name}: ")).nth(1).unwrap_or_else(|| panic!("--{name}"));
            rest.split(';').next().unwrap_or_default().to_owned()
        };
        let both = ["paper", "card"];
        for (words, papers) in [
            ("ink", &both[..]),
            ("quiet", &both),
            ("good", &both),
            ("bad", &both),
            ("warn", &["paper", "card", "warn-paper"]),
            ("ceiling", &["paper", "window"]),
            ("claim", &["paper", "window"]),
            ("throttled", &["paper", "window"]),
        ] {
            for paper in papers {
                let contrast = contrast(&colour(words), &colour(paper));
                assert!(contrast >= 4.5, "{words} on {paper}: {contrast:.2}");
            }
        }
        for line in ["offered", "accepted", "service-p50", "service-p99", "response-p50", "response-p99"] {
            assert!(contrast(&colour(line), &colour("window")) >= 3.0, "{line}");
        }
    }
}

#[test]
fn what_the_service_claims_is_drawn_as_it_changes_and_only_where_requests_have_one_size() {
    let varied = page(&telling::varied());
    let wide = |page: &str| {
        page.split("id=\"rates-wide-told\"").nth(1).and_then(|rest| rest.split("</svg>").next()).unwrap_or_default().to_owned()
    };
    assert_eq!(wide(&varied).matches("stroke=\"var(--claim)\"").count(), 2);
    assert!(wide(&varied).contains("WarmThroughput 4,000 write units/s; WarmThroughput 5,000 write units/s"), "{}", wide(&varied));
    let mixed = page(&telling::mixed());
    is_well_formed(&mixed);
    assert_eq!(wide(&mixed).matches("var(--claim)").count(), 0);
    assert!(wide(&mixed).contains("#6+7") && !wide(&mixed).contains(">\n#7\n"), "{}", wide(&mixed));
}

#[test]
fn gaps_stay_gaps_in_the_charts() {
    let mut document = telling::whole();
    let lines = |document: &Document| {
        let page = page(document);
        let chart = page.split("<desc id=\"latency-wide-told\"").nth(1).and_then(|rest| rest.split("</svg>").next()).unwrap_or_default();
        chart.matches("stroke=\"var(--service-p50)\"").count()
    };
    let before = lines(&document);
    // Seven windows with pauses between them.
    assert_eq!(before, 7);
    document.buckets.p50_ms[20] = Finite::NULL;
    assert_eq!(lines(&document), before + 1);
}

#[test]
fn a_long_session_is_joined_and_says_so() {
    let mut document = telling::whole();
    let mut long = throttlescope::report::document::Buckets { interval_s: 1, ..Default::default() };
    for s in 0..10_000u32 {
        long.start_s.push(f64::from(s).into());
        long.span_s.push(1);
        long.window.push(Some(0));
        long.offered.push(5_000);
        long.accepted.push(4_000 + u64::from(s % 7));
        long.throttled.push(1_000);
        long.p50_ms.push(4.5.into());
        long.p99_ms.push(9.0.into());
        long.response_p50_ms.push(5.0.into());
        long.response_p99_ms.push(10.0.into());
    }
    document.buckets = long;
    document.windows.truncate(1);
    document.windows[0].start_s = 0.0.into();
    document.windows[0].duration_s = 10_000.0.into();
    let page = page(&document);
    assert!(page.contains("Each point joins 11 buckets and shows their mean rate."), "{page}");
    let points = |part: &str| part.split("points=\"").skip(1).map(|p| p.split('"').next().unwrap_or_default().matches(',').count()).max();
    assert!(points(&page).is_some_and(|most| (500..=2_000).contains(&most)), "{:?}", points(&page));
    assert!(page.len() < 400_000, "{}", page.len());
}

#[test]
fn figures_beyond_all_size_draw_no_broken_chart() {
    let mut document = telling::whole();
    document.windows[0].start_s = Finite::from(-1e300);
    document.windows[1].duration_s = Finite::from(1e300);
    document.windows[2].sustained_per_s = Finite::from(1e300);
    document.buckets.p99_ms[20] = Finite::from(1e-300);
    document.buckets.offered.truncate(3);
    document.buckets.accepted[30..32].fill(u64::MAX);
    let page = page(&document);
    is_well_formed(&page);
    assert!(!page.contains("NaN") && !page.contains("inf"));
}
