output "mirrored_prefix" {
  description = "Prefix of the names of mirrored topics."
  value       = "${var.source_alias}."
}

output "offset_syncs_topic" {
  description = "The topic that MirrorMaker keeps on the source cluster."
  value       = kafka_topic.offset_syncs.name
}
