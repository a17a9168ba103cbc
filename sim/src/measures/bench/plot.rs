//! The plot: a row of panels for each hold time, a panel for each figure, a line for each lock.

use super::{Contestant, Grid, Point, Spread};
use picklock_model::time::Micros;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Reads on white and on black alike; nothing is filled.
const INK: RGBColor = RGBColor(0x80, 0x80, 0x80);
/// Likewise, and apart from each other for who tells few colours apart (after Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x82, 0xc8),
    RGBColor(0x00, 0xa0, 0x78),
    RGBColor(0xc0, 0x5a, 0x9c),
    RGBColor(0xc8, 0x96, 0x00),
    RGBColor(0x70, 0x70, 0xd0),
];

const PANEL: (u32, u32) = (320, 230);
const LEGEND_HEIGHT: u32 = 34;
/// Sizes of text. What comes out is a fifth smaller.
const LARGE: i32 = 17;
const SMALL: i32 = 14;
/// No logarithm is taken of less.
const SMALLEST: f64 = 0.01;

/// What a panel shows.
struct Panel {
    title: &'static str,
    /// Logarithmic, or linear from zero on.
    is_logarithmic: bool,
    /// The largest there can be.
    largest: Option<f64>,
    figure: fn(&Point) -> Option<Spread>,
}

const PANELS: [Panel; 4] = [
    Panel {
        title: "acquisitions per second",
        is_logarithmic: true,
        largest: None,
        figure: |point| Some(point.per_second),
    },
    Panel {
        title: "waiting time, p99, ms",
        is_logarithmic: true,
        largest: None,
        figure: |point| point.wait_p99_ms,
    },
    Panel {
        title: "store requests per acquisition",
        is_logarithmic: true,
        largest: None,
        figure: |point| point.requests_per_acquisition,
    },
    Panel {
        title: "fairness (Jain's index)",
        is_logarithmic: false,
        largest: Some(1.0),
        figure: |point| point.jain,
    },
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// The plot of these points, as SVG: the same points, the same bytes. Means as lines, smallest to largest of the seeds as bars.
pub fn plot(grid: &Grid, points: &[Point]) -> String {
    let mut svg = String::new();
    let size = (PANEL.0 * PANELS.len() as u32, LEGEND_HEIGHT + PANEL.1 * grid.holds.len() as u32);
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        if let Err(error) = draw(grid, points, &area).and_then(|()| area.present()) {
            unreachable!("text can be written to memory: {error}");
        }
    }
    svg
}

fn draw(grid: &Grid, points: &[Point], area: &Area) -> Drawn {
    let (top, below) = area.split_vertically(LEGEND_HEIGHT);
    legend(&grid.contestants, &top)?;
    let rows = below.split_evenly((grid.holds.len(), PANELS.len()));
    for (place, cell) in rows.iter().enumerate() {
        let (row, column) = (place / PANELS.len(), place % PANELS.len());
        panel(grid, points, grid.holds[row], &PANELS[column], cell)?;
    }
    Ok(())
}

fn text(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

fn legend(contestants: &[Contestant], area: &Area) -> Drawn {
    let mut left = 20;
    for (contestant, colour) in contestants.iter().zip(COLOURS) {
        area.draw(&PathElement::new([(left, 17), (left + 24, 17)], colour.stroke_width(3)))?;
        let style = text(LARGE).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(contestant.name, (left + 32, 17), style))?;
        left += 32 + 9 * contestant.name.len() as i32 + 24;
    }
    let style = text(SMALL).pos(Pos::new(HPos::Left, VPos::Center));
    area.draw(&Text::new(
        "across: contending threads; bars: smallest to largest of the seeds",
        (left, 17),
        style,
    ))
}

fn panel(grid: &Grid, points: &[Point], hold: Micros, panel: &Panel, area: &Area) -> Drawn {
    let hold_ms = hold.0 as f64 / 1000.0;
    let here: Vec<(&Point, Spread)> = points
        .iter()
        .filter(|point| point.hold_ms == hold_ms)
        .filter_map(|point| Some((point, (panel.figure)(point)?)))
        .collect();
    let height = |value: f64| if panel.is_logarithmic { value.max(SMALLEST).log10() } else { value };
    let across = |threads: u8| f64::from(threads).log2();

    let highest = here.iter().map(|(_, spread)| height(spread.max)).fold(f64::NEG_INFINITY, f64::max);
    let lowest = here.iter().map(|(_, spread)| height(spread.min)).fold(f64::INFINITY, f64::min);
    let (bottom, top) = match (here.is_empty(), panel.is_logarithmic) {
        (true, _) => (0.0, 1.0),
        (false, true) => (lowest.floor(), highest.ceil().max(lowest.floor() + 1.0)),
        (false, false) => (0.0, panel.largest.unwrap_or(highest) * 1.04),
    };
    let first = grid.threads.iter().copied().min().map_or(0.0, across);
    let last = grid.threads.iter().copied().max().map_or(1.0, across);

    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .caption(format!("{}, hold {}", panel.title, hold_words(hold)), text(LARGE))
        .x_label_area_size(26)
        .y_label_area_size(46)
        .build_cartesian_2d(first - 0.1..last.max(first + 1.0) + 0.1, bottom..top)?;
    chart
        .configure_mesh()
        .x_labels(9)
        .y_labels(6)
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.25))
        .axis_style(INK)
        .label_style(text(SMALL))
        .x_label_formatter(&|x| whole(*x).map_or(String::new(), |x| format!("{}", x.exp2())))
        .y_label_formatter(&|y| match panel.is_logarithmic {
            true => whole(*y).map_or(String::new(), |y| format!("{}", 10_f64.powi(y as i32))),
            false => format!("{y:.1}"),
        })
        .draw()?;
    for (contestant, colour) in grid.contestants.iter().zip(COLOURS) {
        let own: Vec<(f64, Spread)> = here
            .iter()
            .filter(|(point, _)| point.lock == contestant.name)
            .map(|(point, spread)| (across(point.threads), *spread))
            .collect();
        let means = own.iter().map(|(x, spread)| (*x, height(spread.mean)));
        chart.draw_series(LineSeries::new(means, colour.stroke_width(2)))?;
        chart.draw_series(own.iter().map(|(x, spread)| {
            let ends = [(*x, height(spread.min)), (*x, height(spread.max))];
            PathElement::new(ends, colour.stroke_width(4))
        }))?;
    }
    Ok(())
}

/// `10 ms`.
fn hold_words(hold: Micros) -> String {
    format!("{} ms", hold.0 as f64 / 1000.0)
}

/// The number, if it is one that a label of a logarithmic axis can name.
fn whole(number: f64) -> Option<f64> {
    ((number - number.round()).abs() < 1e-6).then(|| number.round())
}
