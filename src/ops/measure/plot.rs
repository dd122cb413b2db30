//! Plots: how often a pattern showed, week by week, as a line of text and as SVG.

use chrono::{Datelike, Duration};

use super::{Measured, Week};
use crate::base::clock::Timestamp;
use crate::distill::patterns::measure::Share;

/// The Monday of a moment's week.
pub fn monday(at: Timestamp) -> String {
    let day = at.date_naive();
    let back = Duration::days(day.weekday().num_days_from_monday().into());
    (day - back).to_string()
}

/// A letter for each week: how often it showed, `·` where there was no session.
pub fn sparkline(weeks: &[Week], of: impl Fn(&Week) -> Share) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |week: &Week| match of(week).rate() {
        None => '·',
        Some(rate) => BARS[((rate * 7.0).round() as usize).min(7)],
    };
    weeks.iter().map(bar).collect()
}

const WIDTH: usize = 640;
const ROW: usize = 120;
const LEFT: usize = 48;

/// The same as a picture, one row for each pattern: with it filled, without it hollow.
pub fn svg(measured: &[Measured]) -> String {
    let height = ROW * measured.len().max(1) + 24;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (row, one) in measured.iter().enumerate() {
        svg.push_str(&rows(one, row * ROW));
    }
    svg.push_str("</svg>\n");
    svg
}

fn rows(one: &Measured, top: usize) -> String {
    let base = top + ROW - 20;
    let tall = (ROW - 50) as f64;
    let weeks = one.weeks.len().max(1);
    let step = (WIDTH - LEFT - 12) as f64 / weeks as f64;
    let mut row = format!(
        "<text x=\"8\" y=\"{}\">{}: {}</text>\n<line x1=\"{LEFT}\" y1=\"{base}\" x2=\"{}\" y2=\"{base}\" stroke=\"#888\"/>\n\
         <text x=\"8\" y=\"{}\">100 %</text><text x=\"8\" y=\"{base}\">0 %</text>\n",
        top + 16,
        escaped(&one.name),
        one.verdict.words(),
        WIDTH - 12,
        top + 36,
    );
    for (at, week) in one.weeks.iter().enumerate() {
        let middle = LEFT as f64 + step * (at as f64 + 0.5);
        for (share, shift, fill) in [(week.without, -0.2, "none"), (week.with, 0.2, "#2a6")] {
            let Some(rate) = share.rate() else { continue };
            let (width, high) = ((step * 0.35).clamp(2.0, 24.0), (rate * tall).max(1.0));
            row.push_str(&format!(
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{high:.1}\" fill=\"{fill}\" \
                 stroke=\"#333\"><title>{}: {} of {}</title></rect>\n",
                middle + shift * step - width / 2.0,
                base as f64 - high,
                escaped(&week.monday),
                share.hits,
                share.of,
            ));
        }
    }
    row
}

fn escaped(text: &str) -> String {
    let line = crate::base::text::one_line(text, 90);
    line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_are_bars_from_nothing_to_always() {
        let week = |hits, of| Week {
            monday: "2026-11-16".into(),
            with: Share { hits, of },
            without: Share::default(),
        };
        let weeks = [week(0, 4), week(2, 4), week(4, 4), week(0, 0)];
        assert_eq!(sparkline(&weeks, |week| week.with), "▁▅█·");
        let sunday = crate::base::clock::parse("2026-11-22T23:00:00Z").unwrap();
        assert_eq!(monday(sunday), "2026-11-16");
        assert_eq!(escaped("<script>&\""), "&lt;script&gt;&amp;&quot;");
    }
}
