"""Metrics as Prometheus reads them."""

from prometheus_client.parser import text_string_to_metric_families


def read_samples(text: str) -> dict[tuple[str, ...], float]:
    """All samples of a page: by name, and the values of the labels in the order of their names."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
