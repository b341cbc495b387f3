//! What the subject's own metrics page tells about the objects of the run.
//!
//! Guarantees: counts what came after the page that was read before the first object; what is not
//! on the page is a warning and stays `None`. Read after memory was sampled, because a page costs
//! the subject memory. Leaves to others: parsing (`watch::metrics_text`).

use crate::engine::session::{Reason, Session};
use crate::record::Reconcile;
use crate::watch::{admin, gc_pause, metrics_text};

pub async fn run(session: &mut Session<'_>) -> Result<(), Reason> {
    let before = session.page_before.take();
    let before = before.as_deref();
    let wanted = session.subject.metrics.as_ref();
    let Some(wanted) = wanted.filter(|_| session.cell.objects > 0) else {
        return Ok(());
    };
    let Some(after) = page(session).await else {
        let warning = format!("its metrics page {} could not be read", wanted.path);
        session.run.warnings.push(warning);
        return Ok(());
    };
    if let Some(name) = gc_pause::histogram_of(session.subject.language) {
        session.run.gc_pauses = gc_pause::between(before, &after, name);
        if session.run.gc_pauses.is_none() {
            let warning = format!("no histogram {name} on its metrics page");
            session.run.warnings.push(warning);
        }
    }
    let name = &wanted.reconcile_histogram;
    let Some(buckets) = metrics_text::histogram_between(before, &after, name) else {
        let warning = format!("no histogram {name} on its metrics page");
        session.run.warnings.push(warning);
        return Ok(());
    };
    let errors = wanted.reconcile_errors.as_deref();
    let errors = errors.and_then(|name| metrics_text::counter_between(before, &after, name));
    session.run.reconcile = Some(Reconcile {
        buckets,
        errors: errors.map(|errors| errors as u64),
    });
    Ok(())
}

/// The metrics page as it is now.
pub async fn page(session: &Session<'_>) -> Option<String> {
    let metrics = session.subject.metrics.as_ref()?;
    match admin::get(session.admin, &metrics.path).await {
        Ok(page) if page.status == 200 => Some(page.body),
        _ => None,
    }
}
