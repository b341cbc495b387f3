package dev.tare.league.documented;

import dev.tare.league.DeploymentChild;
import dev.tare.league.Plan;
import io.javaoperatorsdk.operator.api.config.informer.Informer;
import io.javaoperatorsdk.operator.processing.dependent.kubernetes.KubernetesDependent;

/** The Deployment as a managed dependent resource, with a label selector as in the guide. */
@KubernetesDependent(informer = @Informer(labelSelector = Plan.CHILDREN))
public class DeploymentResource extends DeploymentChild {}
