import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.CreateTopicPolicy;

/** A policy as clusters have them: few partitions, and names with a dot. */
public class NoLargeTopics implements CreateTopicPolicy {
    @Override
    public void validate(RequestMetadata asked) throws PolicyViolationException {
        if (asked.numPartitions() != null && asked.numPartitions() > 10) {
            throw new PolicyViolationException(asked.topic() + ": at most 10 partitions");
        }
        if (asked.topic().startsWith("broken")) {
            throw new IllegalStateException("a defect of the policy");
        }
    }

    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public void close() {}
}
