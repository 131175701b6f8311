//! One file with styles, scripts and data, and a policy that forbids it to load anything else.

use serde::Serialize;

const STYLE: &str = include_str!("viewer/style.css");
/// In the order of their dependencies.
const SCRIPTS: [&str; 7] = [
    include_str!("viewer/base.js"),
    include_str!("viewer/layout.js"),
    include_str!("viewer/draw.js"),
    include_str!("viewer/panel.js"),
    include_str!("viewer/run.js"),
    include_str!("viewer/campaign.js"),
    include_str!("viewer/main.js"),
];
const BODY: &str = include_str!("viewer/body.html");

/// The page that shows that data. `title` is plain text without markup.
pub(super) fn page(title: &str, data: &impl Serialize) -> String {
    let title = text(title);
    let data = script(&json(data));
    let scripts = SCRIPTS.concat();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n{BODY}\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>\n(() => {{\n\"use strict\";\n{scripts}}})();\n</script>\n</body>\n</html>\n"
    )
}

pub(super) fn json(data: &impl Serialize) -> String {
    serde_json::to_string(data).unwrap_or_else(|error| {
        // serde_json refuses only maps whose keys are not strings, and there are none here.
        unreachable!("{error}")
    })
}

/// JSON that can't end the script element that contains it, or a line of it: such characters occur
/// only within strings, and are escaped.
fn script(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            other => safe.push(other),
        }
    }
    safe
}

fn text(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORST: &str = "</script><!--<script>\u{2028}\u{2029}&lt;\"'";

    #[test]
    fn data_never_ends_its_script() {
        let json = serde_json::to_string(WORST).expect("JSON");
        let safe = script(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).expect("JSON"), WORST);
    }

    #[test]
    fn a_page_has_only_our_own_scripts() {
        let count = |page: &str| page.matches("<script").count();
        let plain = page("title", &"data");
        let worst = page(WORST, &WORST);
        assert_eq!(count(&worst), count(&plain));
        assert_eq!(worst.matches("</script").count(), count(&plain));
    }
}
