package dev.tare.league;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.javaoperatorsdk.operator.api.monitoring.Metrics;
import io.javaoperatorsdk.operator.api.reconciler.RetryInfo;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/**
 * Times and failures of reconciles in Prometheus' text format, under the names and in the buckets
 * of every baseline: four per power of two from 2^-16 s to 64 s.
 */
public class ReconcileMetrics implements Metrics {

  private static final int PER_OCTAVE = 4;
  private static final int BOUNDS = 22 * PER_OCTAVE + 1;
  private static final double LOWEST_S = 0x1p-16;

  private final AtomicLongArray counts = new AtomicLongArray(BOUNDS + 1);
  private final AtomicLong sumNanos = new AtomicLong();
  private final LongAdder errors = new LongAdder();

  @Override
  public <T> T timeControllerExecution(ControllerExecution<T> execution) throws Exception {
    long start = System.nanoTime();
    try {
      return execution.execute();
    } finally {
      long nanos = System.nanoTime() - start;
      counts.incrementAndGet(bucket(nanos / 1e9));
      sumNanos.addAndGet(nanos);
    }
  }

  @Override
  public void reconciliationFailed(
      HasMetadata app, RetryInfo retry, Exception error, Map<String, Object> metadata) {
    errors.increment();
  }

  String render() {
    StringBuilder out = new StringBuilder("# TYPE reconcile_duration_seconds histogram\n");
    long count = 0;
    for (int i = 0; i < BOUNDS; i++) {
      count += counts.get(i);
      if (counts.get(i) > 0) {
        out.append("reconcile_duration_seconds_bucket{le=\"%s\"} %d\n".formatted(bound(i), count));
      }
    }
    count += counts.get(BOUNDS);
    out.append("reconcile_duration_seconds_bucket{le=\"+Inf\"} %d\n".formatted(count));
    out.append("reconcile_duration_seconds_sum %s\n".formatted(sumNanos.get() / 1e9));
    out.append("reconcile_duration_seconds_count %d\n".formatted(count));
    out.append("# TYPE reconcile_errors_total counter\n");
    out.append("reconcile_errors_total %d\n".formatted(errors.sum()));
    return out.toString();
  }

  /** The first bucket whose upper bound is not below the time; the last one has none. */
  static int bucket(double seconds) {
    for (int i = 0; i < BOUNDS; i++) {
      if (seconds <= bound(i)) {
        return i;
      }
    }
    return BOUNDS;
  }

  /** An octave is divided into four equal parts. */
  static double bound(int bucket) {
    double octave = LOWEST_S * (1L << (bucket / PER_OCTAVE));
    return octave * (1 + (bucket % PER_OCTAVE) / (double) PER_OCTAVE);
  }
}
