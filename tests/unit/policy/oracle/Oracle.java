import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Kafka's own authorizer, asked over stdin; fields are parted by tabs, one line each:
 * "R super.users allow.everyone" begins a case, "A" adds an ACL, "Q" is a request, answered 0 or 1.
 */
public class Oracle {
    public static void main(String[] args) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintWriter out = new PrintWriter(System.out);
        Map<String, Object> settings = new HashMap<>();
        Map<Uuid, StandardAcl> acls = new HashMap<>();
        Metrics metrics = null;
        StandardAuthorizer authorizer = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] field = line.split("\t", -1);
            switch (field[0]) {
                case "R":
                    settings = new HashMap<>();
                    settings.put("super.users", field[1]);
                    settings.put("allow.everyone.if.no.acl.found", field[2]);
                    acls = new HashMap<>();
                    authorizer = null;
                    break;
                case "A":
                    acls.put(Uuid.randomUuid(), acl(field));
                    break;
                default:
                    if (authorizer == null) {
                        metrics = new Metrics();
                        authorizer = new StandardAuthorizer();
                        authorizer.configure(settings);
                        authorizer.withPluginMetrics(new PluginMetricsImpl(metrics, Map.of()));
                        authorizer.loadSnapshot(acls);
                        authorizer.completeInitialLoad();
                    }
                    out.println(isAllowed(authorizer, field) ? "1" : "0");
            }
        }
        out.flush();
    }

    private static StandardAcl acl(String[] field) {
        return new StandardAcl(
            ResourceType.valueOf(field[1]), field[2], PatternType.valueOf(field[3]), field[4],
            field[5], AclOperation.valueOf(field[6]), AclPermissionType.valueOf(field[7]));
    }

    private static boolean isAllowed(StandardAuthorizer authorizer, String[] field)
            throws Exception {
        ResourcePattern resource =
            new ResourcePattern(ResourceType.valueOf(field[4]), field[5], PatternType.LITERAL);
        Action action = new Action(AclOperation.valueOf(field[3]), resource, 1, false, false);
        List<Action> actions = new ArrayList<>();
        actions.add(action);
        return authorizer.authorize(new Asked(field[1], field[2]), actions).get(0)
            == AuthorizationResult.ALLOWED;
    }

    private static class Asked implements AuthorizableRequestContext {
        private final KafkaPrincipal principal;
        private final InetAddress address;

        Asked(String name, String host) throws Exception {
            int colon = name.indexOf(':');
            principal = new KafkaPrincipal(name.substring(0, colon), name.substring(colon + 1));
            address = InetAddress.getByName(host);
        }

        public String listenerName() { return "L"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        public KafkaPrincipal principal() { return principal; }
        public InetAddress clientAddress() { return address; }
        public int requestType() { return 0; }
        public int requestVersion() { return 0; }
        public String clientId() { return ""; }
        public int correlationId() { return 0; }
    }
}
