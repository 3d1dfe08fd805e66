"""The main job: mint an attestation, find it again, verify it online and offline."""
