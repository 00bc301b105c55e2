class Payload:
    max_decode_packets: int
