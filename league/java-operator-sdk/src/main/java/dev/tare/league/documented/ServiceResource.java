package dev.tare.league.documented;

import dev.tare.league.Plan;
import dev.tare.league.ServiceChild;
import io.javaoperatorsdk.operator.api.config.informer.Informer;
import io.javaoperatorsdk.operator.processing.dependent.kubernetes.KubernetesDependent;

/** The Service as a managed dependent resource, with a label selector as in the guide. */
@KubernetesDependent(informer = @Informer(labelSelector = Plan.CHILDREN))
public class ServiceResource extends ServiceChild {}
