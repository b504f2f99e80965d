import java.util.Map;
import org.apache.kafka.common.errors.PolicyViolationException;
import org.apache.kafka.server.policy.AlterConfigPolicy;

/** A policy as clusters have them: records are kept for a minute at least. */
public class NoShortRetention implements AlterConfigPolicy {
    @Override
    public void validate(RequestMetadata asked) throws PolicyViolationException {
        String kept = asked.configs().get("retention.ms");
        if (kept != null && Long.parseLong(kept) < 60000) {
            throw new PolicyViolationException("retention.ms of at least a minute, not " + kept);
        }
    }

    @Override
    public void configure(Map<String, ?> configs) {}

    @Override
    public void close() {}
}
