package dev.tare.league.documented;

import dev.tare.league.Admin;
import dev.tare.league.ReconcileMetrics;
import io.javaoperatorsdk.operator.Operator;
import java.io.IOException;
import java.time.Duration;

/** The operator as the guide teaches it: every setting is a default. */
public final class Documented {

  private Documented() {}

  public static void main(String[] args) throws IOException {
    var metrics = new ReconcileMetrics();
    var operator = new Operator(overrider -> overrider.withMetrics(metrics));
    operator.register(new EdgeAppReconciler());
    operator.installShutdownHook(Duration.ofSeconds(10));
    operator.start();
    Admin.serve(args, operator, metrics);
  }
}
